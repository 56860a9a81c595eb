// Scenarios with more than one process: fork, exec, and what all of them did.
#include <atomic>
#include <cstdio>
#include <dlfcn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "../counts.hpp"
#include "scenarios.hpp"

namespace fake_cuda {
namespace {

// Keeps the driver's locks busy.
void use_until(const Api& api, Context* context, const std::atomic<bool>& end) {
  need(api.cuCtxSetCurrent(context), "cuCtxSetCurrent");
  while (!end) {
    DevicePtr address = 0;
    need(api.cuMemAlloc_v2(&address, 4096), "cuMemAlloc_v2");
    need(api.cuMemFree_v2(address), "cuMemFree_v2");
  }
}

// What a forked child sees: errors, and no hang.
int use_in_child(const Api& api) {
  DevicePtr address = 0;
  const bool refused = api.cuInit(0) != kSuccess && api.cuMemAlloc_v2(&address, 16) != kSuccess &&
                       api.cuCtxSynchronize() != kSuccess;
  return refused ? 0 : 1;
}

}  // namespace

int run_fork(const Api& api, const Options& options) {
  Context* context = use_primary(api);
  std::atomic<bool> end = false;
  constexpr std::size_t kUsers = 2;
  std::vector<std::thread> threads;
  threads.reserve(kUsers);
  for (std::size_t each = 0; each < kUsers; ++each) {
    threads.emplace_back(use_until, std::cref(api), context, std::cref(end));
  }
  int good = 0;
  const auto count = static_cast<int>(options.number("count", 20));
  for (int each = 0; each < count; ++each) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(30);  // a hang must not outlive the test
      ::_exit(use_in_child(api));
    }
    int status = 0;
    good += ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0
                ? 1
                : 0;
  }
  end = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  // The parent goes on.
  need(api.cuLaunchKernel(
           kernel_named(api, "after"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
       "cuLaunchKernel");
  need(api.cuCtxSynchronize(), "cuCtxSynchronize");
  std::printf("forks=%d\ngood=%d\n", count, good);
  return good == count ? 0 : 1;
}

int run_exec(const Api& api, const Options& options) {
  use_primary(api);
  DevicePtr address = 0;
  need(api.cuMemAlloc_v2(&address, 1 << 20), "cuMemAlloc_v2");
  const std::string program = options.text("program", "");
  const std::string door = options.text("door", "lookup");
  ::execl(program.c_str(), program.c_str(), "launches", "--door", door.c_str(), nullptr);
  std::perror(program.c_str());
  return 1;
}

int run_totals(const Api& api, const Options& /*options*/) {
  need(api.cuInit(0), "cuInit");
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  const auto total = reinterpret_cast<std::uint64_t (*)(const char*)>(
      library == nullptr ? nullptr : ::dlsym(library, "fake_cuda_total"));
  const auto peak = reinterpret_cast<std::uint64_t (*)(int)>(
      library == nullptr ? nullptr : ::dlsym(library, "fake_cuda_device_peak"));
  const auto used = reinterpret_cast<std::uint64_t (*)(int)>(
      library == nullptr ? nullptr : ::dlsym(library, "fake_cuda_device_used"));
  if (total == nullptr || peak == nullptr || used == nullptr) {
    std::fprintf(stderr, "cuda_client: this driver does not count\n");
    return 1;
  }
  for (const std::string_view each : kCountNames) {
    const std::string name(each);
    std::printf("%s=%lu\n", name.c_str(), total(name.c_str()));
  }
  std::printf("device_used=%lu\ndevice_peak=%lu\n", used(0), peak(0));
  return 0;
}

}  // namespace fake_cuda
