// The client program by every door, without anything in front of the driver.
#include <fcntl.h>
#include <fstream>
#include <map>
#include <signal.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "../abi/functions.hpp"
#include "machine.hpp"

namespace fake_cuda {
namespace {

using Values = std::map<std::string, std::string>;

// Starts the client with these arguments; its output goes to a file of the machine.
pid_t start_client(const Machine& machine, const std::vector<std::string>& arguments) {
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string output = (machine.folder() / "output").string();
    const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(file, STDOUT_FILENO);
    ::setenv("CARPOOL_FAKE_CUDA", (machine.folder() / "settings").c_str(), 1);
    ::setenv("LD_LIBRARY_PATH", FAKE_CUDA_FOLDER, 1);
    std::vector<char*> words{const_cast<char*>(CUDA_CLIENT_LINKED)};
    for (const std::string& word : arguments) {
      words.push_back(const_cast<char*>(word.c_str()));
    }
    words.push_back(nullptr);
    ::execv(CUDA_CLIENT_LINKED, words.data());
    ::_exit(127);
  }
  return child;
}

// Its lines "key=value".
Values output_of(const Machine& machine) {
  Values values;
  std::ifstream in(machine.folder() / "output");
  for (std::string line; std::getline(in, line);) {
    const std::size_t sign = line.find('=');
    values[line.substr(0, sign)] = sign == std::string::npos ? "" : line.substr(sign + 1);
  }
  return values;
}

Values client(const Machine& machine, const std::vector<std::string>& arguments) {
  EXPECT_TRUE(Machine::ended_well(start_client(machine, arguments))) << arguments.front();
  return output_of(machine);
}

class Doors : public testing::TestWithParam<std::string> {};

TEST_P(Doors, EveryFunctionIsThere) {
  EXPECT_EQ(client(Machine(), {"doors", "--door", GetParam()}).size(),
            static_cast<std::size_t>(Entry::Count));
}

TEST_P(Doors, EveryLaunchRuns) {
  const Machine machine;
  Values values = client(machine, {"launches", "--count", "5", "--door", GetParam()});
  EXPECT_EQ(values["launches"], "125");
  EXPECT_EQ(values["ran"], "125");
  values = client(machine, {"totals"});
  EXPECT_EQ(values["kernel_launches"], "125");
  EXPECT_EQ(values["cooperative_launches"], "42");
}

TEST_P(Doors, ManyStreamsInOrder) {
  const Machine machine;
  (void)client(machine, {"streams", "--length", "20us", "--count", "40", "--door", GetParam()});
  EXPECT_EQ(client(machine, {"totals"})["kernel_launches"], "200");
}

TEST_P(Doors, AGraphHoldsUnlessAnotherThreadBreaksIt) {
  const std::string door = GetParam();
  const Machine machine;
  Values values = client(machine, {"graphs", "--door", door, "--helper", "plain"});
  EXPECT_EQ(values["elsewhere"], "900");
  EXPECT_EQ(values["ended"], "901");
  EXPECT_EQ(client(machine, {"graphs", "--door", door, "--helper", "relaxed"})["ended"], "0");
  EXPECT_EQ(
      client(machine, {"graphs", "--door", door, "--mode", "thread", "--helper", "plain"})["ended"],
      "0");
  values = client(machine, {"totals"});
  EXPECT_EQ(values["graph_launches"], "6");
  EXPECT_EQ(values["graph_kernel_nodes"], "12");
  EXPECT_EQ(values["capture_violations"], "1");
}

TEST_P(Doors, ForkedChildrenGetErrors) {
  EXPECT_EQ(client(Machine(), {"fork", "--count", "5", "--door", GetParam()})["good"], "5");
}

TEST_P(Doors, AReplacedProcessBeginsAnew) {
  const Machine machine;
  EXPECT_EQ(client(machine, {"exec", "--door", GetParam()})["ran"], "245");
  EXPECT_EQ(client(machine, {"totals"})["device_used"], "0");
}

INSTANTIATE_TEST_SUITE_P(All,
                         Doors,
                         testing::Values("linked", "symbol", "lookup"),
                         [](const auto& each) { return each.param; });

TEST(Program, EveryFamilyIsRefusedAtTheCapacity) {
  for (const char* family :
       {"device", "pitch", "managed", "async", "pool", "physical", "array", "graph"}) {
    const Machine machine("memory = 32");
    Values values = client(machine, {"allocate", "--family", family, "--mib", "2"});
    EXPECT_EQ(values["allocated"], std::to_string(32 << 20)) << family;
    EXPECT_EQ(values["result"], "2") << family;
    EXPECT_EQ(values["free"], "0") << family;
    EXPECT_EQ(values["free_after"], std::to_string(32 << 20)) << family;
    EXPECT_EQ(client(machine, {"totals"})["device_peak"], std::to_string(32 << 20)) << family;
  }
}

TEST(Program, ALoopThatIsKilledLeavesNothingBehind) {
  const Machine machine("memory = 32\nmode = timeslice");
  const pid_t loop = start_client(machine, {"loop", "--mib", "30", "--kernel", "spin_50us"});
  while (!output_of(machine).contains("ready")) {
    ::sched_yield();
  }
  EXPECT_EQ(::kill(loop, SIGKILL), 0);
  EXPECT_EQ(::waitpid(loop, nullptr, 0), loop);
  const Values values =
      client(machine, {"loop", "--mib", "30", "--kernel", "spin_50us", "--count", "4"});
  EXPECT_EQ(values.at("launches"), "4");
}

TEST(Program, TheCountsOfAProcessAreInAFile) {
  const Machine machine("counts = " + std::string(testing::TempDir()) + "fake_cuda_counts_" +
                        std::to_string(::getpid()));
  const std::string path = testing::TempDir() + "fake_cuda_counts_" + std::to_string(::getpid());
  (void)client(machine, {"launches", "--count", "1"});
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_NE(text.str().find(" kernel_launches=29 cooperative_launches=10 "), std::string::npos)
      << text.str();
  EXPECT_EQ(::unlink(path.c_str()), 0);
}

}  // namespace
}  // namespace fake_cuda
