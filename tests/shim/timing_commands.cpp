// Commands of the program whose kernels have a duration.
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "base/clock.hpp"
#include "interpose/state/client.hpp"
#include "interpose/state/kernel_table.hpp"
#include "interpose/state/reader.hpp"
#include "program.hpp"

namespace carpool::shim_test {
namespace {

constexpr double kLongestSeconds = 40.0;
constexpr unsigned kEnoughSamples = 5;
constexpr int kLaunchesAtOnce = 20;

std::uint64_t calls(const char* function) {
  void* const driver = ::dlopen(std::getenv("CARPOOL_REAL_LIBCUDA"), RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<std::uint64_t (*)(const char*)>(::dlsym(driver, "fake_cuda_calls"))(
      function);
}

bool open_state(interpose::StateReader& reader) {
  const char* const folder = std::getenv("CARPOOL_STATE_DIR");
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    return reader.open(folder, file.path().stem().string(), ::geteuid()) ==
           interpose::StateError::None;
  }
  return false;
}

std::uint64_t key_of(const char* kernel) {
  return interpose::kernel_key(interpose::hash_name(kernel),
                               {.grid = {4, 1, 1}, .block = {32, 1, 1}});
}

interpose::KernelEstimate learned(const interpose::StateReader& reader, std::uint64_t key) {
  static const auto entries =
      std::make_unique<std::array<interpose::KernelEntry, interpose::kKernelEntries>>();
  interpose::KernelTable table(*entries);
  const auto file = reader.save_kernels();
  for (interpose::KernelEntry& entry : *entries) {
    entry.key.store(0);
    entry.count.store(0);
  }
  static_cast<void>(table.load(file));
  return table.find(key);
}

interpose::KernelEstimate learned(const interpose::StateReader& reader) {
  return learned(reader, key_of("spin_500us"));
}

// Launches until enough durations are known.
int launch_until_learned(Program& program, const interpose::StateReader& reader) {
  int failures = 0;
  const Stopwatch watch;
  while (learned(reader).count < kEnoughSamples && watch.seconds() < kLongestSeconds) {
    for (int i = 0; i < kLaunchesAtOnce; ++i) {
      failures += program.launch("cuLaunchKernel", nullptr) != 0 ? 1 : 0;
    }
    failures += program.cuda("cuStreamSynchronize", Handle{nullptr}) != 0 ? 1 : 0;
  }
  return failures;
}

int start_timing(Program& program, interpose::StateReader& reader) {
  return (open_state(reader) ? 0 : 1) +
         (reader.want(interpose::kWantDurations) == interpose::StateError::None ? 0 : 1) +
         (program.cuda("cuModuleGetFunction", &program.kernel, program.module, "spin_500us"));
}

void report_timing(const interpose::StateReader& reader) {
  const interpose::KernelEstimate estimate = learned(reader);
  print("samples", estimate.count);
  print("mean_ns", static_cast<std::uint64_t>(estimate.mean_ns));
  print("event_records", calls("cuEventRecord"));
  print("events_made", calls("cuEventCreate"));
}

}  // namespace

int capture_until(Program& program, const std::atomic<bool>& stop, int mode) {
  constexpr unsigned kNonBlocking = 1;
  const DriverDoor& cuda = program.cuda;
  Handle stream = nullptr;
  Handle graph = nullptr;
  int failures = cuda("cuCtxSetCurrent", program.context) != 0 ? 1 : 0;
  failures += cuda("cuStreamCreate", &stream, kNonBlocking) != 0 ? 1 : 0;
  while (!stop.load()) {
    failures += cuda("cuStreamBeginCapture_v2", stream, mode) != 0 ? 1 : 0;
    for (int i = 0; i < kLaunchesAtOnce; ++i) {
      failures += program.launch("cuLaunchKernel", stream) != 0 ? 1 : 0;
    }
    failures += cuda("cuStreamEndCapture", stream, &graph) != 0 ? 1 : 0;
    failures += cuda("cuGraphDestroy", graph) != 0 ? 1 : 0;
  }
  return failures;
}

int run_timed(Program& program, int /*count*/) {
  interpose::StateReader reader;
  int failures = start_timing(program, reader);
  failures += launch_until_learned(program, reader);
  report_timing(reader);
  failures += program.cuda("cuDevicePrimaryCtxRelease_v2", program.device) != 0 ? 1 : 0;
  print("events_destroyed", calls("cuEventDestroy_v2"));
  return failures;
}

int run_timed_captures(Program& program, int /*count*/) {
  interpose::StateReader reader;
  int failures = start_timing(program, reader);
  std::atomic<bool> stop{false};
  int other_failures = 0;
  Handle beside = nullptr;
  failures += program.cuda("cuStreamCreate", &beside, 1U) != 0 ? 1 : 0;
  std::thread capturing(
      [&program, &stop, &other_failures] { other_failures = capture_until(program, stop); });
  const Stopwatch watch;
  while (learned(reader).count < kEnoughSamples && watch.seconds() < kLongestSeconds) {
    for (int i = 0; i < kLaunchesAtOnce; ++i) {
      failures += program.launch("cuLaunchKernel", beside) != 0 ? 1 : 0;
    }
  }
  stop.store(true);
  capturing.join();
  report_timing(reader);
  return failures + other_failures;
}

// Two kernels with one name, each after another one: what a matrix product and one with a larger
// inner size look like. Best effort, beside an SLO process.
int run_products(Program& program, int rounds) {
  int failures = 0;
  for (int i = 0; i < rounds; ++i) {
    for (const char* const name : {"spin_100us", "product@300us", "spin_200us", "product@1200us"}) {
      failures += use_kernel(program, name);
      failures += program.launch("cuLaunchKernel", nullptr) != 0 ? 1 : 0;
    }
    failures += program.cuda("cuStreamSynchronize", Handle{nullptr}) != 0 ? 1 : 0;
  }
  interpose::StateReader reader;
  failures += open_state(reader) ? 0 : 1;
  const std::uint64_t product = key_of("product");
  const auto after = [&](const char* before) {
    const std::uint64_t key = interpose::kernel_key_after(product, key_of(before), product);
    return static_cast<std::uint64_t>(learned(reader, key).mean_ns);
  };
  print("mean_ns", static_cast<std::uint64_t>(learned(reader, product).mean_ns));
  print("mean_after_first_ns", after("spin_100us"));
  print("mean_after_second_ns", after("spin_200us"));
  return failures;
}

// Kernels of 5 ms that are believed to take 80 ms.
int run_believed(Program& program, int count) {
  constexpr float kBelievedNs = 80e6F;
  const std::uint64_t key = key_of("spin_5000us");
  int failures = use_kernel(program, "spin_5000us");
  const char* const folder = std::getenv("CARPOOL_STATE_DIR");
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    interpose::Client client;
    if (client.join(folder, file.path().stem().string(), {.job = 1}) ==
        interpose::StateError::None) {
      static_cast<void>(interpose::KernelTable(client.shared()->kernels)
                            .set(key, {.mean_ns = kBelievedNs, .count = 10}));
    }
  }
  interpose::StateReader reader;
  failures += open_state(reader) ? 0 : 1;
  print("believed_ns", static_cast<std::uint64_t>(learned(reader, key).mean_ns));
  for (int i = 0; i < count; ++i) {
    failures += program.launch("cuLaunchKernel", nullptr) != 0 ? 1 : 0;
    failures += program.cuda("cuStreamSynchronize", Handle{nullptr}) != 0 ? 1 : 0;
  }
  print("mean_ns", static_cast<std::uint64_t>(learned(reader, key).mean_ns));
  return failures;
}

// A child that has copies of the events must leave them alone.
int run_timed_fork(Program& program, int /*count*/) {
  interpose::StateReader reader;
  int failures = start_timing(program, reader);
  failures += launch_until_learned(program, reader);
  const std::uint64_t made = calls("cuEventCreate");
  const pid_t child = ::fork();
  if (child == 0) {
    for (int i = 0; i < 1000; ++i) {
      static_cast<void>(program.launch("cuLaunchKernel", nullptr));
    }
    ::_exit(calls("cuEventCreate") == made ? 0 : 1);
  }
  int status = -1;
  failures += ::waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
  report_timing(reader);
  return failures;
}

}  // namespace carpool::shim_test
