// Commands of the program that serve requests, or launch as fast as they can.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <numeric>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/clock.hpp"
#include "interpose/state/reader.hpp"
#include "program.hpp"

namespace carpool::shim_test {
namespace {

constexpr int kKernelsOfRequest = 10;
constexpr std::chrono::milliseconds kBetweenRequests{15};
constexpr double kLongest = 100.0;

int request(Program& program, DevicePointer memory) {
  const DriverDoor& cuda = program.cuda;
  const char input = 'x';
  const Handle stream = nullptr;
  int failures = cuda(
      "cuMemcpyHtoDAsync_v2", memory, static_cast<const void*>(&input), std::size_t{1}, stream);
  for (int i = 0; i < kKernelsOfRequest; ++i) {
    failures += program.launch("cuLaunchKernel", nullptr);
  }
  return failures + cuda("cuStreamSynchronize", stream);
}

}  // namespace

void declare(const char* name) {
  if (auto* const call = reinterpret_cast<void (*)()>(::dlsym(RTLD_DEFAULT, name))) {
    call();
  }
}

void report_gate() {
  const char* const folder = std::getenv("CARPOOL_STATE_DIR");
  std::uint64_t requests = 0;
  std::error_code problem;
  for (const auto& file : std::filesystem::directory_iterator(folder, problem)) {
    interpose::StateReader reader;
    interpose::StateReport state;
    if (reader.open(folder, file.path().stem().string(), ::geteuid()) !=
            interpose::StateError::None ||
        reader.read(state) != interpose::StateError::None) {
      continue;
    }
    for (const interpose::ClientReport& client : state.clients) {
      if (client.pid != ::getpid()) {
        continue;
      }
      const interpose::GateReport& gate = client.gate;
      print("policy", gate.policy);
      print("slo_ns", gate.slo_ns);
      print("quantile", gate.quantile_millionths);
      print("requests", gate.requests);
      requests += gate.requests;
      print("late_requests", gate.late_requests);
      print("p50_ns", gate.p50_ns);
      print("tail_ns", gate.tail_ns);
      print("service_ns", gate.service_ns);
      print("service_square_us2", gate.service_square_us2);
      for (std::size_t reason = 0; reason < gate.holds.size(); ++reason) {
        print(("holds_" + std::to_string(reason)).c_str(), gate.holds[reason]);
        print(("held_ns_" + std::to_string(reason)).c_str(), gate.held_ns[reason]);
      }
      print("holds", std::accumulate(gate.holds.begin(), gate.holds.end(), std::uint64_t{0}));
      print("held_ns", std::accumulate(gate.held_ns.begin(), gate.held_ns.end(), std::uint64_t{0}));
    }
  }
  print("requests_on_all_gpus", requests);
}

bool exists(const char* variable) {
  const char* const path = std::getenv(variable);
  return path != nullptr && std::filesystem::exists(path);
}

void touch(const char* variable) {
  if (const char* const path = std::getenv(variable)) {
    if (std::FILE* const file = std::fopen(path, "w")) {
      static_cast<void>(std::fclose(file));
    }
  }
}

void wait_for_go() {
  touch("SHIM_TEST_READY");
  const Stopwatch waiting;
  while (std::getenv("SHIM_TEST_GO") != nullptr && !exists("SHIM_TEST_GO") &&
         waiting.seconds() < kLongest) {
    pause_for(std::chrono::milliseconds{5});
  }
}

int use_kernel(Program& program, const char* name) {
  return program.cuda("cuModuleGetFunction", &program.kernel, program.module, name) != 0 ? 1 : 0;
}

// Requests of 10 kernels of 1 ms, once the file SHIM_TEST_GO exists; their median is printed.
// Before that, SHIM_TEST_FIRST_REQUESTS of one kernel.
int run_serve(Program& program, int requests) {
  int failures = use_kernel(program, "spin_1000us");
  DevicePointer memory = 0;
  failures += program.cuda("cuMemAlloc_v2", &memory, kMegabyte);
  failures += request(program, memory);
  const char* const first = std::getenv("SHIM_TEST_FIRST_REQUESTS");
  for (int i = 0; first != nullptr && i < std::atoi(first); ++i) {
    failures += request(program, memory);
  }
  wait_for_go();
  std::vector<double> seconds;
  for (int i = 0; i < requests; ++i) {
    const Stopwatch watch;
    failures += request(program, memory);
    seconds.push_back(watch.seconds());
    pause_for(kBetweenRequests);
  }
  touch("SHIM_TEST_STOP");
  failures += request(program, memory);  // with which the last of them has ended
  std::ranges::sort(seconds);
  print("median_us", static_cast<std::uint64_t>(seconds[seconds.size() / 2] * 1e6));
  report_gate();
  return failures;
}

// Kernels of 5 ms, few of them ahead of the GPU, until the file SHIM_TEST_STOP exists; or so many.
int run_flood(Program& program, int count) {
  int failures = use_kernel(program, "spin_5000us");
  std::vector<Handle> events(4, nullptr);
  for (Handle& event : events) {
    failures += program.cuda("cuEventCreate", &event, 0U);
  }
  int launched = 0;
  const Stopwatch watch;
  while (!exists("SHIM_TEST_STOP") && (count == 0 || launched < count) &&
         watch.seconds() < kLongest) {
    const Handle event = events[static_cast<std::size_t>(launched) % events.size()];
    if (launched >= static_cast<int>(events.size())) {
      failures += program.cuda("cuEventSynchronize", event);
    }
    failures += program.launch("cuLaunchKernel", nullptr);
    failures += program.cuda("cuEventRecord", event, Handle{nullptr});
    ++launched;
    if (launched == static_cast<int>(events.size())) {
      touch("SHIM_TEST_GO");
    }
  }
  print("flooded", static_cast<std::uint64_t>(launched));
  print("flooded_us", static_cast<std::uint64_t>(watch.seconds() * 1e6));
  report_gate();
  return failures;
}

// Marked iterations of 20 kernels of 1 ms, until the file SHIM_TEST_STOP exists.
int run_iterations(Program& program, int /*count*/) {
  constexpr int kKernelsOfIteration = 20;
  int failures = use_kernel(program, "spin_1000us");
  const Stopwatch watch;
  while (!exists("SHIM_TEST_STOP") && watch.seconds() < kLongest) {
    declare("carpool_request_begin");
    for (int i = 0; i < kKernelsOfIteration; ++i) {
      failures += program.launch("cuLaunchKernel", nullptr);
    }
    failures += program.cuda("cuStreamSynchronize", Handle{nullptr});
    declare("carpool_request_end");
    touch("SHIM_TEST_GO");
  }
  return failures;
}

// Kernels in a stream of their own, while another one is captured again and again.
int run_flood_captures(Program& program, int count) {
  int failures = use_kernel(program, "spin_500us");
  Handle stream = nullptr;
  failures += program.cuda("cuStreamCreate", &stream, 1U);
  std::atomic<bool> stop{false};
  int other_failures = 0;
  std::thread capturing(
      [&program, &stop, &other_failures] { other_failures = capture_until(program, stop); });
  for (int i = 0; i < count; ++i) {
    failures += program.launch("cuLaunchKernel", stream);
  }
  stop.store(true);
  capturing.join();
  return failures + other_failures + program.cuda("cuStreamSynchronize", stream);
}

// One declared request that does not end while the process lives.
int run_endless_request(Program& program, int /*count*/) {
  int failures = use_kernel(program, "spin_0us");
  declare("carpool_request_begin");
  const Stopwatch watch;
  while (watch.seconds() < kLongest) {
    failures += program.launch("cuLaunchKernel", nullptr);
    touch("SHIM_TEST_READY");
    pause_for(std::chrono::milliseconds(5));
  }
  return failures;
}

// A request that waits for one long kernel.
int run_long_wait(Program& program, int /*count*/) {
  int failures = use_kernel(program, "spin_3000000us");
  failures += program.launch("cuLaunchKernel", nullptr);
  touch("SHIM_TEST_READY");
  return failures + program.cuda("cuStreamSynchronize", Handle{nullptr});
}

// Declared requests, and launches outside of them.
int run_declared(Program& program, int requests) {
  int failures = 0;
  for (int i = 0; i < requests; ++i) {
    declare("carpool_request_begin");
    failures += program.launch("cuLaunchKernel", nullptr);
    declare("carpool_request_end");
    failures += program.launch("cuLaunchKernel", nullptr);
  }
  declare("carpool_request_end");  // one too many
  report_gate();
  return failures;
}

// Each request begins on one GPU and ends on another one.
int run_declared_on_two(Program& program, int requests) {
  Handle other = nullptr;
  int failures = program.cuda("cuDevicePrimaryCtxRetain", &other, 1);
  for (int i = 0; i < requests; ++i) {
    declare("carpool_request_begin");
    failures += program.launch("cuLaunchKernel", nullptr);
    failures += program.cuda("cuCtxPushCurrent_v2", other);
    DevicePointer memory = 0;
    failures += program.cuda("cuMemAlloc_v2", &memory, kMegabyte);
    declare("carpool_request_end");
    failures += program.cuda("cuMemFree_v2", memory);
    failures += program.cuda("cuCtxPopCurrent_v2", &other);
  }
  report_gate();
  return failures;
}

}  // namespace carpool::shim_test
