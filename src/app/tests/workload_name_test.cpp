#include "app/inputs/workload_name.hpp"

#include <gtest/gtest.h>

namespace carpool::app {
namespace {

TEST(WorkloadName, ComesFromTheProgramNotFromItsInterpreterOrFlags) {
  EXPECT_EQ(workload_name("", {"python3", "-u", "train.py", "--epochs", "3"}), "train");
  EXPECT_EQ(workload_name("", {"/usr/bin/env", "bash", "/srv/jobs/run.sh"}), "run");
  EXPECT_EQ(workload_name("", {"./build/bench.exe"}), "bench");
  EXPECT_EQ(workload_name("", {"python3", "-i"}), "python3");
}

TEST(WorkloadName, DropsCharactersThatAFileNameMustNotHave) {
  EXPECT_EQ(workload_name("", {"my job (2).py"}), "myjob2");
  EXPECT_EQ(workload_name("", {std::string(300, 'x')}), std::string(100, 'x'));
}

TEST(WorkloadName, AGivenNameIsTakenAsItIs) {
  EXPECT_EQ(workload_name("resnet-50_b32", {"python3", "train.py"}), "resnet-50_b32");
}

TEST(WorkloadName, AGivenNameThatCannotBeAFileNameIsRefused) {
  for (const std::string bad : {"a/b", ".hidden", "two words", "../up"}) {
    const auto name = workload_name(bad, {"python3", "train.py"});
    ASSERT_FALSE(name) << bad;
    EXPECT_EQ(name.error().code, ErrorCode::InvalidInput);
    EXPECT_EQ(
        name.error().message,
        "\"" + bad +
            "\" is not a workload name: use at most 100 letters, digits, '.', '_' or '-', and "
            "set one with --name");
  }
  EXPECT_FALSE(workload_name("", {}));
  EXPECT_FALSE(workload_name(std::string(101, 'x'), {}));
}

}  // namespace
}  // namespace carpool::app
