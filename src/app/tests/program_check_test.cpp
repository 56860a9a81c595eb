#include "app/inputs/program_check.hpp"

#include <gtest/gtest.h>

#include "app/tests/fixtures.hpp"

namespace carpool::app {
namespace {

class ProgramCheck : public testing::Test {
 protected:
  [[nodiscard]] std::string problem(const std::string& word) const {
    const auto checked = check_program(word, folder_.path());
    return checked ? "" : checked.error().message;
  }
  void make(const char* name, bool executable) const {
    const auto file = folder_.write(name, "print()\n");
    if (executable) {
      std::filesystem::permissions(
          file, std::filesystem::perms::owner_exec, std::filesystem::perm_options::add);
    }
  }

  TemporaryFolder folder_;
};

TEST_F(ProgramCheck, AFileThatIsNotExecutableIsRefusedWithItsInterpreter) {
  make("train.py", false);
  make("train.sh", false);
  make("train", false);
  EXPECT_EQ(problem("train.py"),
            "train.py is not executable; write `carpool submit -- python train.py`");
  EXPECT_EQ(problem("./train.sh"),
            "./train.sh is not executable; write `carpool submit -- bash ./train.sh`");
  EXPECT_EQ(problem("train"),
            "train is not executable; name its interpreter before it, or make it executable: "
            "`chmod +x train`");
}

TEST_F(ProgramCheck, AMissingScriptOrJobFileIsRefused) {
  for (const char* word : {"missing.toml", "missing.rad", "missing.py", "./missing.sh"}) {
    EXPECT_EQ(problem(word),
              std::string(word) + ": no such file in " + folder_.path().string() +
                  "; correct its name, or give its folder");
  }
}

TEST_F(ProgramCheck, AProgramOutsideOfPathIsNamedWithItsFolder) {
  make("own.py", true);
  EXPECT_EQ(problem("own.py"),
            "own.py is not in a folder of PATH; write `carpool submit -- ./own.py`");
  EXPECT_EQ(problem("./own.py"), "");
  EXPECT_EQ(problem(folder_.path().string()),
            folder_.path().string() + " is a folder; name the program to run");
}

TEST_F(ProgramCheck, WhatMayBeRightIsLeftToTheJob) {
  EXPECT_EQ(problem("sh"), "");
  EXPECT_EQ(problem("unknown-program"), "");  // a container or a module may bring it
  EXPECT_EQ(problem("/no/such/program"), "");
}

}  // namespace
}  // namespace carpool::app
