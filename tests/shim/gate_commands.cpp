// Commands of the program that serve requests, or launch as fast as they can.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <numeric>
#include <random>
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

bool exists(const char* variable) {
  const char* const path = std::getenv(variable);
  return path != nullptr && std::filesystem::exists(path);
}

// As a library finds the calls of the shim.
void declare(const char* name) {
  if (auto* const call = reinterpret_cast<void (*)()>(::dlsym(RTLD_DEFAULT, name))) {
    call();
  }
}

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

void report_gate() {
  const char* const folder = std::getenv("CARPOOL_STATE_DIR");
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
      print("late_requests", gate.late_requests);
      print("p50_ns", gate.p50_ns);
      print("tail_ns", gate.tail_ns);
      print("service_ns", gate.service_ns);
      print("service_square_us2", gate.service_square_us2);
      for (std::size_t reason = 0; reason < gate.holds.size(); ++reason) {
        print(("holds_" + std::to_string(reason)).c_str(), gate.holds[reason]);
      }
      print("holds", std::accumulate(gate.holds.begin(), gate.holds.end(), std::uint64_t{0}));
      print("held_ns", std::accumulate(gate.held_ns.begin(), gate.held_ns.end(), std::uint64_t{0}));
    }
  }
}

void touch(const char* variable) {
  if (const char* const path = std::getenv(variable)) {
    if (std::FILE* const file = std::fopen(path, "w")) {
      static_cast<void>(std::fclose(file));
    }
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
  touch("SHIM_TEST_READY");
  const Stopwatch waiting;
  while (!exists("SHIM_TEST_GO") && waiting.seconds() < kLongest) {
    pause_for(kBetweenRequests);
  }
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

namespace {

// Kernels in two streams, each of which waits for that before it in the other one.
int launch_in_turn(Program& program, int count) {
  Handle side = nullptr;
  Handle event = nullptr;
  int failures = program.cuda("cuStreamCreate", &side, 1U);
  failures += program.cuda("cuEventCreate", &event, 0U);
  for (int i = 0; i < count; ++i) {
    Handle const own = i % 2 == 0 ? nullptr : side;
    Handle const other = i % 2 == 0 ? side : nullptr;
    failures += program.launch("cuLaunchKernel", own);
    failures += program.cuda("cuEventRecord", event, own);
    failures += program.cuda("cuStreamWaitEvent", other, event, 0U);
  }
  return failures;
}

// Kernels of 1 ms, one after the other, so that those that follow are known.
int launch_first(Program& program) {
  constexpr int kBefore = 3;
  int failures = use_kernel(program, "spin_1000us");
  for (int i = 0; i < kBefore; ++i) {
    failures += program.launch("cuLaunchKernel", nullptr);
    failures += program.cuda("cuStreamSynchronize", Handle{nullptr});
  }
  return failures;
}

// Kernels in the legacy stream and in another one by turns.
int launch_beside_legacy(Program& program, int count, unsigned flags) {
  Handle other = nullptr;
  int failures = program.cuda("cuStreamCreate", &other, flags);
  for (int i = 0; i < count; ++i) {
    failures += program.launch("cuLaunchKernel", i % 2 == 0 ? nullptr : other);
  }
  return failures;
}

int launch_in_one_stream(Program& program, int count) {
  int failures = 0;
  for (int i = 0; i < count; ++i) {
    failures += program.launch("cuLaunchKernel", nullptr);
  }
  return failures;
}

// How long it takes to launch kernels of which no result is waited for, in µs.
template <typename Launch>
int ahead(Program& program, const Launch& launch) {
  int failures = launch_first(program);
  const Stopwatch watch;
  failures += launch();
  print("launching_us", static_cast<std::uint64_t>(watch.seconds() * 1e6));
  failures += program.cuda("cuStreamSynchronize", Handle{nullptr});
  print("done_us", static_cast<std::uint64_t>(watch.seconds() * 1e6));
  report_gate();
  return failures;
}

}  // namespace

int run_ahead(Program& program, int count) {
  return ahead(program, [&] { return launch_in_one_stream(program, count); });
}

int run_ahead_with_streams(Program& program, int count) {
  return ahead(program, [&] { return launch_in_turn(program, 2 * count); });
}

int run_ahead_beside_legacy(Program& program, int flags) {
  constexpr int kKernels = 6;
  return ahead(program, [&] {
    return launch_beside_legacy(program, kKernels, static_cast<unsigned>(flags));
  });
}

// A library of the program has used the primary context for a while, which lives on.
int run_ahead_after_release(Program& program, int count) {
  Handle context = nullptr;
  int failures = launch_first(program);
  failures += program.cuda("cuDevicePrimaryCtxRetain", &context, program.device);
  failures += program.cuda("cuDevicePrimaryCtxRelease_v2", program.device);
  return failures + run_ahead(program, count);
}

// Kernels in streams that wait for one another at random. An event is recorded again and again, in
// all streams.
int run_tangled(Program& program, int count) {
  constexpr std::size_t kStreams = 6;
  constexpr std::size_t kEvents = 12;
  int failures = use_kernel(program, "spin_50us");
  std::vector<Handle> streams(kStreams, nullptr);
  std::vector<Handle> events(kEvents, nullptr);
  for (Handle& stream : streams) {
    failures += program.cuda("cuStreamCreate", &stream, 1U);
  }
  for (Handle& event : events) {
    failures += program.cuda("cuEventCreate", &event, 0U);
  }
  touch("SHIM_TEST_GO");
  std::mt19937_64 engine(11);
  for (int i = 0; i < count; ++i) {
    Handle const stream = streams[engine() % kStreams];
    Handle const event = events[engine() % kEvents];
    failures += program.launch("cuLaunchKernel", stream);
    failures += program.cuda("cuEventRecord", event, stream);
    failures += program.cuda("cuStreamWaitEvent", streams[engine() % kStreams], event, 0U);
    failures += program.cuda(
        "cuStreamWaitEvent", streams[engine() % kStreams], events[engine() % kEvents], 0U);
  }
  for (Handle const stream : streams) {
    failures += program.cuda("cuStreamSynchronize", stream);
  }
  report_gate();
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

}  // namespace carpool::shim_test
