#include "app/inputs/job_file.hpp"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "app/tests/fixtures.hpp"

namespace carpool::app {
namespace {

using Words = std::vector<std::string>;

class JobFile : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path write(const char* name, std::string_view text) const {
    return folder_.write(name, text);
  }
  // The message without the folder, whose name differs from run to run.
  template <class T>
  [[nodiscard]] std::string problem(const Result<T>& read) const {
    std::string message = read ? "no error" : read.error().message;
    const std::string folder = folder_.path().string() + "/";
    for (std::size_t at = message.find(folder); at != std::string::npos;
         at = message.find(folder)) {
      message.erase(at, folder.size());
    }
    return message;
  }

  TemporaryFolder folder_;
};

TEST(SplitWords, QuotesAndBackslashesKeepBlanks) {
  EXPECT_EQ(split_words("a  'b c' \"d 'e\" f\\ g ''"), (Words{"a", "b c", "d 'e", "f g", ""}));
  EXPECT_EQ(split_words("  "), Words{});
  EXPECT_EQ(split_words("a 'b").error().message, "missing closing ' in: a 'b");
  EXPECT_EQ(split_words("\\'x '\\'"), (Words{"'x", "\\"}));
}

TEST_F(JobFile, TomlHasTheKeysOfAJob) {
  const auto job = read_job_toml(write("job.toml",
                                       "argv = ['python', 'train.py']\nmem = '12G'\ngpus = 2\n"
                                       "time = '2h'\n[env]\nA = 'b'\n"));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->at("argv"), (Words{"python", "train.py"}));
  EXPECT_EQ(job->at("time_s"), 7200.0);
  EXPECT_EQ(job->at("env").at("A"), "b");
  EXPECT_FALSE(job->contains("time"));
}

TEST_F(JobFile, TomlMayHoldNestedListsNumbersAndFlags) {
  const auto job = read_job_toml(
      write("job.toml", "runtime = '90s'\nexclusive = true\nshare = 0.5\nlist = [[1, -2], []]\n"));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(*job,
            nlohmann::json::parse(
                R"({"runtime_s": 90.0, "exclusive": true, "share": 0.5, "list": [[1, -2], []]})"));
}

TEST_F(JobFile, TomlNamesTheUnitOfMemoryAndTime) {
  for (const auto& [line, message] :
       {std::pair("mem = 12",
                  "mem: 12 has no unit; write 12G for 12 GiB or 12M for 12 MiB, in quotes"),
        std::pair("mem = '12'", "mem: 12 has no unit; write 12G for 12 GiB or 12M for 12 MiB"),
        std::pair("mem_limit = 20",
                  "mem_limit: 20 has no unit; write 20G for 20 GiB or 20M for 20 MiB, in quotes"),
        std::pair("time = 2",
                  "time: 2 has no unit; write 2d for days, 2h for hours, 2m for minutes or 2s for "
                  "seconds, in "
                  "quotes"),
        std::pair("runtime = '2'",
                  "runtime: 2 has no unit; write 2d for days, 2h for hours, 2m for minutes or 2s "
                  "for seconds")}) {
    EXPECT_EQ(problem(read_job_toml(write("job.toml", line))), std::string("job.toml: ") + message);
  }
  const auto job = read_job_toml(write("job.toml", "mem = 'none'\ntime_s = 90\nslo_ms = 5\n"));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->at("time_s"), 90);
}

TEST_F(JobFile, BadTomlNamesFileAndLine) {
  EXPECT_TRUE(problem(read_job_toml(write("job.toml", "mem = '1G'\ngpus = many\nargv = []\n")))
                  .starts_with("job.toml:2: "));
  EXPECT_TRUE(problem(read_job_toml(write("twice.toml", "a = 1\nb = 2\na = 3\n")))
                  .starts_with("twice.toml:3: "));
  EXPECT_EQ(problem(read_job_toml(write("date.toml", "argv = ['x']\n\nwhen = 2026-11-15\n"))),
            "date.toml: line 3: a job file cannot hold dates or times of day");
  EXPECT_TRUE(problem(read_job_toml(write("time.toml", "argv = ['x']\ntime = 'soon'\n")))
                  .starts_with("time.toml: time: "));
  EXPECT_NE(problem(read_job_toml(folder_.path() / "absent.toml")).find("absent.toml"),
            std::string::npos);
}

TEST_F(JobFile, ACarmaTaskGivesCommandEnvironmentGpusAndMemory) {
  const auto job =
      read_rad(write("resnet.rad",
                     "a comment\nconda activate tf\npython main.py -a 'res net'\n"
                     "resnet.model\nimagenet\n64\nexclusive\n2\n8200\n9000\n40000\n1\n"));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->at("argv"),
            (Words{"conda",
                   "run",
                   "--no-capture-output",
                   "-n",
                   "tf",
                   "python",
                   "main.py",
                   "-a",
                   "res net"}));
  EXPECT_EQ(job->at("gpus"), 2);
  EXPECT_EQ(job->at("mem"), "8200M");
  EXPECT_EQ(job->at("name"), "resnet");
}

TEST_F(JobFile, ACarmaTaskWithoutAnEnvironmentRunsItsCommandPlain) {
  const auto job = read_rad(write("net.rad", "c\n\npython main.py\n\n\n\n\n1\n0\n"));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->at("argv"), (Words{"python", "main.py"}));
  EXPECT_FALSE(job->contains("mem"));  // 0 MiB: unknown
}

TEST_F(JobFile, ACarmaEnvironmentWithASlashIsAFolder) {
  const auto job =
      read_rad(write("net.rad", "c\nconda activate /envs/tf\npython x.py\n\n\n\n\n1\n"));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->at("argv"),
            (Words{"conda", "run", "--no-capture-output", "-p", "/envs/tf", "python", "x.py"}));
}

TEST_F(JobFile, AShortOrWrongCarmaTaskIsRefused) {
  const std::string expected =
      ": not a CARMA task: it must have a python command (line 3) and the number of GPUs (line 8)";
  EXPECT_EQ(problem(read_rad(write("short.rad", "a\nconda activate tf\npython x.py\n"))),
            "short.rad" + expected);
  EXPECT_EQ(problem(read_rad(write("other.rad", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"))),
            "other.rad" + expected);
  EXPECT_EQ(problem(read_rad(write("gpus.rad", "a\nb\npython x.py\n\n\n\n\nmany\n1\n"))),
            "gpus.rad:8: \"many\" is not a number of GPUs");
  EXPECT_EQ(problem(read_rad(write("quote.rad", "a\nb\npython 'x\n\n\n\n\n1\n1\n"))),
            "quote.rad: missing closing ' in: python 'x");
  EXPECT_NE(problem(read_rad(folder_.path() / "absent.rad")).find("absent.rad"), std::string::npos);
}

TEST_F(JobFile, AScriptsLinesAreOptionsUpToItsFirstCommand) {
  const auto script = read_script(write("run.sh",
                                        "#!/bin/bash -e\n#CARPOOL --mem 20G\n# plain\n"
                                        "#CARPOOL --name 'my job'\necho hi\n#CARPOOL --gpus 9\n"));
  ASSERT_TRUE(script);
  EXPECT_EQ(script->options, (Words{"--mem", "20G", "--name", "my job"}));
  ASSERT_EQ(script->argv.size(), 5U);
  EXPECT_EQ(script->argv[0], "/bin/bash");
  EXPECT_EQ(script->argv[1], "-e");
  EXPECT_EQ(script->argv[2], "-c");
  EXPECT_NE(script->argv[3].find("echo hi"), std::string::npos);
}

TEST_F(JobFile, AScriptWithoutSuchLinesIsAnOrdinaryProgram) {
  const auto script = read_script(write("run.sh", "#!/bin/sh\necho #CARPOOL\n"));
  ASSERT_TRUE(script);
  EXPECT_TRUE(script->options.empty());
  EXPECT_TRUE(script->argv.empty());
}

TEST_F(JobFile, AScriptWithOptionsForAnotherToolOnlyIsRefused) {
  EXPECT_NE(problem(read_script(write("run.sh", "#!/bin/sh\n#SBATCH --mem=20G\ntrue\n")))
                .find("its #SBATCH lines are not read"),
            std::string::npos);
  EXPECT_TRUE(read_script(write("run.sh", "#!/bin/sh\n#SBATCH -G 1\n#CARPOOL --gpus 1\ntrue\n")));
  EXPECT_TRUE(read_script(write("run.sh", "#!/bin/sh\ntrue\n#SBATCH --mem=20G\n")));
}

TEST_F(JobFile, AnInterpreterThatTakesNoTextGetsTheFile) {
  const auto file = write("run.pl", "#!/usr/bin/perl\n#CARPOOL --gpus 1\n");
  const auto script = read_script(file);
  ASSERT_TRUE(script);
  EXPECT_EQ(script->argv, (Words{"/usr/bin/perl", file.string()}));
}

TEST_F(JobFile, AScriptWithAnUnclosedQuoteIsRefused) {
  EXPECT_EQ(problem(read_script(write("run.sh", "#CARPOOL --name 'x\n"))),
            "run.sh: missing closing ' in:  --name 'x");
}

}  // namespace
}  // namespace carpool::app
