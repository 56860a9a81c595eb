// Commands of the program that launch ahead of their turn.
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "program.hpp"

namespace carpool::shim_test {
namespace {

// Kernels in two streams, each of which waits for that before it in the other one.
int launch_in_turn(Program& program, int count, int priority = 0) {
  Handle side = nullptr;
  Handle event = nullptr;
  int failures = program.cuda("cuStreamCreateWithPriority", &side, 1U, priority);
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

int run_ahead_with_priorities(Program& program, int count) {
  return ahead(program, [&] { return launch_in_turn(program, 2 * count, -1); });
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

// Short kernels, each of them launched after the one before was done, until the file SHIM_TEST_STOP
// exists; and how many of them were late by milliseconds.
int run_drips(Program& program, int /*count*/) {
  constexpr int kBefore = 20;  // then the kernel is known
  constexpr double kLate = 0.004;
  int failures = use_kernel(program, "spin_5us");
  std::uint64_t late = 0;
  for (int i = 0; !exists("SHIM_TEST_STOP"); ++i) {
    if (i == kBefore) {
      touch("SHIM_TEST_GO");
    }
    const Stopwatch watch;
    failures += program.launch("cuLaunchKernel", nullptr);
    failures += program.cuda("cuStreamSynchronize", Handle{nullptr});
    late += watch.seconds() > kLate ? 1 : 0;
    pause_for(std::chrono::milliseconds(1));
  }
  print("late", late);
  report_gate();
  return failures;
}

// Declared requests of short kernels, with pauses of the host between them.
int run_serve_slowly(Program& program, int requests) {
  constexpr int kKernels = 24;
  constexpr std::chrono::microseconds kOfHost{200};
  constexpr std::chrono::milliseconds kBetween{4};
  int failures = use_kernel(program, "spin_20us");
  for (int i = 0; i < requests; ++i) {
    declare("carpool_request_begin");
    for (int kernel = 0; kernel < kKernels; ++kernel) {
      failures += program.launch("cuLaunchKernel", nullptr);
      pause_for(kOfHost);
    }
    failures += program.cuda("cuStreamSynchronize", Handle{nullptr});
    declare("carpool_request_end");
    pause_for(kBetween);
  }
  touch("SHIM_TEST_STOP");
  return failures;
}

}  // namespace carpool::shim_test
