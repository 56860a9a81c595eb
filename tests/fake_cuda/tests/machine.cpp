#include "machine.hpp"

#include <cstdlib>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

#include "../abi/functions.hpp"

namespace fake_cuda {

Machine::Machine(const std::string& settings) {
  std::string name = (std::filesystem::temp_directory_path() / "fake_cuda_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    std::abort();
  }
  folder_ = name;
  std::ofstream(folder_ / "settings") << settings;
}

Machine::~Machine() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

pid_t Machine::start(const std::function<void()>& part) const {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("CARPOOL_FAKE_CUDA", (folder_ / "settings").c_str(), 1);
    part();
    std::exit(testing::Test::HasFailure() ? 1 : 0);
  }
  return child;
}

bool Machine::ended_well(pid_t child) {
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool Machine::run(const std::function<void()>& part) const {
  return ended_well(start(part));
}

void use_device(int device) {
  ASSERT_EQ(cuInit(0), kSuccess);
  Context* context = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, device), kSuccess);
  ASSERT_EQ(cuCtxSetCurrent(context), kSuccess);
}

}  // namespace fake_cuda
