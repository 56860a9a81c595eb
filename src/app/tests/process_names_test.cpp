#include "app/top/process_names.hpp"

#include <cerrno>
#include <fstream>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

namespace carpool::app {
namespace {

class ProcFolder : public ::testing::Test {
 public:
  ProcFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "carpool-proc-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    std::filesystem::create_directory(root_ / "17");
  }
  ~ProcFolder() override { std::filesystem::remove_all(root_); }

 protected:
  void write(const char* file, const std::string& content) const {
    std::ofstream(root_ / "17" / file, std::ios::binary) << content;
  }

  std::filesystem::path root_;
};

TEST_F(ProcFolder, ArgumentsStandApart) {
  write("cmdline", std::string("python\0train.py\0", 16));
  EXPECT_EQ(name_process(17, root_).command, "python train.py");
}

TEST_F(ProcFolder, WithoutACommandLineTheShortNameIsUsed) {
  write("cmdline", "");
  write("comm", "kworker\n");
  EXPECT_EQ(name_process(17, root_).command, "kworker");
}

TEST_F(ProcFolder, EscapeCodesAreShown) {
  write("cmdline", "evil\033[2Jname\x7f");
  EXPECT_EQ(name_process(17, root_).command, "evil\\x1b[2Jname\\x7f");
}

TEST_F(ProcFolder, BytesThatAreNotTextAreShown) {
  write("cmdline", "caf\xc3\xa9 \xff \xc2\x9b \xe2\x82");
  EXPECT_EQ(name_process(17, root_).command, "caf\xc3\xa9 \\xff \\u009b \\xe2\\x82");
}

TEST_F(ProcFolder, AnEndedProcessHasNoName) {
  const ProcessName name = name_process(18, root_);
  EXPECT_EQ(name.user, "");
  EXPECT_EQ(name.command, "");
}

TEST(ProcessNames, FindsTheNameOfThisProcess) {
  EXPECT_NE(name_process(::getpid()).command.find(program_invocation_short_name),
            std::string::npos);
  EXPECT_NE(name_process(::getpid()).user, "");
}

}  // namespace
}  // namespace carpool::app
