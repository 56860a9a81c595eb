#include "driver.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <pthread.h>
#include <string_view>
#include <unistd.h>

namespace fake_cuda {
namespace {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): a process has one driver
std::atomic<Driver*> the_driver = nullptr;
std::atomic<bool> forked = false;
std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(Entry::Count)> calls;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

constexpr std::array<const char*, static_cast<std::size_t>(Entry::Count)> kEntryNames{
#define FAKE_CUDA_FUNCTION(name, lookup, version, twin, parameters) #name,
#include "../abi/all.inc"
#undef FAKE_CUDA_FUNCTION
};

bool works_without_init(Entry entry) {
  switch (entry) {
    case Entry::cuInit:
    case Entry::cuDriverGetVersion:
    case Entry::cuGetProcAddress:
    case Entry::cuGetProcAddress_v2:
    case Entry::cuGetErrorName:
    case Entry::cuGetErrorString:
    case Entry::cuGetExportTable:
      return true;
    default:
      return false;
  }
}

// A forked child must not touch the parent's locks, threads and place on the device.
void after_fork() {
  if (Driver* mine = the_driver.load(); mine != nullptr) {
    forked = true;
    mine->device().forget_after_fork();
  }
}

void write_counts() {
  if (!Driver::exists()) {
    return;
  }
  Driver& mine = Driver::get();
  const std::string path = mine.settings().text("counts", "");
  if (path.empty()) {
    return;
  }
  std::string line = "pid=" + std::to_string(::getpid());
  for (std::size_t count = 0; count < kCounts; ++count) {
    line += " " + std::string(kCountNames.at(count)) + "=" +
            std::to_string(mine.counts().values.at(count).load());
  }
  std::ofstream(path, std::ios::app) << line + "\n";
}

}  // namespace

std::vector<Context*>& context_stack() {
  static thread_local std::vector<Context*> stack;
  return stack;
}

Context* current_context() {
  const std::vector<Context*>& stack = context_stack();
  return stack.empty() ? nullptr : stack.back();
}

int thread_number() {
  static std::atomic<int> threads = 0;
  thread_local const int number = ++threads;
  return number;
}

Driver& Driver::get() {
  static std::once_flag once;
  std::call_once(once, [] {
    // Never destroyed: the process may exit while other threads are in the driver.
    the_driver = new Driver;  // NOLINT(cppcoreguidelines-owning-memory)
    (void)pthread_atfork(nullptr, nullptr, &after_fork);
    (void)std::atexit(&write_counts);
  });
  return *the_driver;
}

bool Driver::exists() {
  return the_driver.load() != nullptr && !forked;
}

Driver::Driver() : settings_(Settings::of_environment()), device_(settings_) {
  gpus_ = std::clamp(static_cast<int>(settings_.number("gpus", 1)), 0, kMaxGpus);
  green_contexts_ = settings_.number("green_contexts", 1) != 0;
  const char* const connections = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  one_connection_ = connections != nullptr && std::string_view(connections) == "1";
  copy_bytes_per_us_ =
      static_cast<std::int64_t>((settings_.number("copy_mib_per_s", 0) << 20U) / 1'000'000);
}

Result Driver::initialize() {
  const Guard guard = lock();
  if (initialized_) {
    return kSuccess;
  }
  if (gpus_ == 0) {
    return kNoDevice;
  }
  if (!device_.join()) {
    return kOperatingSystem;
  }
  for (int device = 0; device < gpus_; ++device) {
    Context* context = make_context(device, 0);
    context->primary = true;
    context->alive = false;  // until it is retained
    primaries_.push_back(context);
  }
  initialized_ = true;
  return kSuccess;
}

std::int64_t Driver::copy_ns(std::uint64_t bytes) const {
  return copy_bytes_per_us_ == 0 ? 0 : static_cast<std::int64_t>(bytes) * 1000 / copy_bytes_per_us_;
}

Result enter(Entry entry) {
  if (forked && entry != Entry::cuDriverGetVersion) {
    return works_without_init(entry) && entry != Entry::cuInit ? kSuccess : kNotInitialized;
  }
  calls.at(static_cast<std::size_t>(entry)).fetch_add(1, std::memory_order_relaxed);
  Driver& mine = Driver::get();
  if (mine.settings().has_failures()) {
    const std::string key = "fail." + std::string(kEntryNames.at(static_cast<std::size_t>(entry)));
    if (const std::uint64_t code = mine.settings().number(key, 0); code != 0) {
      return static_cast<Result>(code);
    }
  }
  if (!mine.green_contexts() && of_green_contexts(entry)) {
    return kNotSupported;
  }
  return mine.initialized() || works_without_init(entry) ? kSuccess : kNotInitialized;
}

bool of_green_contexts(Entry entry) {
  switch (entry) {
#define FAKE_CUDA_FUNCTION(name, lookup, version, twin, parameters) case Entry::name:
#include "../abi/green.inc"
#undef FAKE_CUDA_FUNCTION
    return true;
    default:
      return false;
  }
}

std::uint64_t calls_of(Entry entry) {
  return calls.at(static_cast<std::size_t>(entry)).load();
}

}  // namespace fake_cuda
