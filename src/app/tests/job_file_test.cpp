#include "app/inputs/job_file.hpp"

#include <cstdlib>
#include <fstream>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

namespace carpool::app {
namespace {

using Words = std::vector<std::string>;

class JobFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "carpool-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const char* name, std::string_view text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  std::filesystem::path folder_;
};

TEST(SplitWords, QuotesAndBackslashesKeepBlanks) {
  EXPECT_EQ(split_words("a  'b c' \"d 'e\" f\\ g ''"), (Words{"a", "b c", "d 'e", "f g", ""}));
  EXPECT_EQ(split_words("  "), Words{});
  EXPECT_FALSE(split_words("a 'b"));
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

TEST_F(JobFile, BadTomlNamesFileAndLine) {
  const auto job = read_job_toml(write("job.toml", "argv = [\n\n"));
  ASSERT_FALSE(job);
  EXPECT_NE(job.error().message.find("job.toml:"), std::string::npos) << job.error().message;
  EXPECT_FALSE(read_job_toml(write("time.toml", "argv = ['x']\ntime = 'soon'\n")));
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

TEST_F(JobFile, AShortOrWrongCarmaTaskIsRefused) {
  EXPECT_FALSE(read_rad(write("short.rad", "a\nconda activate tf\npython x.py\n")));
  EXPECT_FALSE(read_rad(write("gpus.rad", "a\nb\npython x.py\n\n\n\n\nmany\n1\n")));
  EXPECT_FALSE(read_rad(folder_ / "absent.rad"));
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

TEST_F(JobFile, AScriptWithoutSuchLinesIsAProgramLikeAnyOther) {
  EXPECT_TRUE(read_script(write("run.sh", "#!/bin/sh\necho #CARPOOL\n"))->options.empty());
}

}  // namespace
}  // namespace carpool::app
