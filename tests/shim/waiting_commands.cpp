// Commands of the program that serve requests and learn otherwise than by a wait for all work that
// they are done.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/clock.hpp"
#include "interpose/library/driver_abi.hpp"
#include "program.hpp"

namespace carpool::shim_test {
namespace {

constexpr const char* kStep = "spin_20000us";
constexpr std::chrono::milliseconds kOnTheHost{5};

// Two streams that do not wait for the legacy one, and two events.
struct Order {
  std::array<Handle, 2> streams{};
  std::array<Handle, 2> events{};

  int make(Program& program) {
    int failures = 0;
    for (Handle& stream : streams) {
      failures += program.cuda("cuStreamCreate", &stream, 1U);
    }
    for (Handle& event : events) {
      failures += program.cuda("cuEventCreate", &event, 0U);
    }
    return failures;
  }
};

}  // namespace

// Requests of 20 ms whose results a stream of its own brings, with as much time between them.
int run_serve_beside_copies(Program& program, int requests) {
  Order order;
  int failures = use_kernel(program, kStep) + order.make(program);
  const auto [compute, copies] = order.streams;
  const auto [computed, copied] = order.events;
  wait_for_go();
  for (int request = 0; request < requests; ++request) {
    failures += program.launch("cuLaunchKernel", compute);
    failures += program.cuda("cuEventRecord", computed, compute);
    failures += program.cuda("cuStreamWaitEvent", copies, computed, 0U);
    failures += program.cuda("cuEventRecord", copied, copies);
    failures += program.cuda("cuEventSynchronize", copied);
    pause_for(std::chrono::milliseconds{20});
  }
  touch("SHIM_TEST_STOP");
  report_gate();
  return failures;
}

// Requests one after the other, whose last call is a copy to the host that returns when it is done:
// of a row or of a plane.
int run_serve_plainly(Program& program, int requests) {
  constexpr std::size_t kBytes = 4096;
  std::array<char, kBytes> host{};
  std::uint64_t device = 0;
  int failures = use_kernel(program, "spin_500us");
  failures += program.cuda("cuMemAlloc_v2", &device, kBytes);
  interpose::Copy2D plane{};
  plane.source_type = interpose::kDeviceMemory;
  plane.source = {0, device, 0, kBytes};
  plane.target_type = interpose::kHostMemory;
  plane.target = {reinterpret_cast<std::uintptr_t>(host.data()), 0, 0, kBytes};
  plane.width_bytes = kBytes;
  plane.height = 1;
  for (int request = 0; request < requests; ++request) {
    failures += program.cuda("cuMemcpyHtoD_v2", device, static_cast<void*>(host.data()), kBytes);
    failures += program.launch("cuLaunchKernel", nullptr);
    failures +=
        request % 2 == 0
            ? program.cuda("cuMemcpyDtoH_v2", static_cast<void*>(host.data()), device, kBytes)
            : program.cuda("cuMemcpy2D_v2", &plane);
  }
  report_gate();
  return failures;
}

// Work with an event behind it that the program never waits for, beside each request; the GPU
// shares its time between both, so they take 40 ms.
int run_serve_and_leave(Program& program, int requests) {
  Order order;
  int failures = use_kernel(program, kStep) + order.make(program);
  wait_for_go();
  for (int request = 0; request < requests; ++request) {
    for (std::size_t i = 0; i < order.streams.size(); ++i) {
      failures += program.launch("cuLaunchKernel", order.streams[i]);
      failures += program.cuda("cuEventRecord", order.events[i], order.streams[i]);
    }
    failures += program.cuda("cuEventSynchronize", order.events[0]);
    pause_for(std::chrono::milliseconds{140});
  }
  touch("SHIM_TEST_STOP");
  report_gate();
  return failures;
}

// Requests of 20 ms, of whose end a callback of the driver tells: of the one or the other kind.
int run_serve_with_callbacks(Program& program, int requests) {
  std::atomic<int> done{0};
  const auto count = [](void* data) { static_cast<std::atomic<int>*>(data)->fetch_add(1); };
  const auto count_good = [](Handle /*stream*/, int status, void* data) {
    static_cast<std::atomic<int>*>(data)->fetch_add(status == 0 ? 1 : 0);
  };
  void (*const function)(void*) = count;
  void (*const with_status)(Handle, int, void*) = count_good;
  int failures = use_kernel(program, kStep);
  wait_for_go();
  for (int request = 0; request < requests; ++request) {
    failures += program.launch("cuLaunchKernel", nullptr);
    void* const data = &done;
    failures += request % 2 == 0
                    ? program.cuda("cuLaunchHostFunc", Handle{nullptr}, function, data)
                    : program.cuda("cuStreamAddCallback", Handle{nullptr}, with_status, data, 0U);
    while (done.load() <= request) {
      pause_for(std::chrono::microseconds{200});
    }
    pause_for(kOnTheHost);
  }
  touch("SHIM_TEST_STOP");
  report_gate();
  return failures;
}

// Steps of 20 ms, each launched before the one in front of it is waited for, by its event.
int run_serve_ahead(Program& program, int steps) {
  constexpr std::chrono::milliseconds kBetweenSteps{16};
  int failures = use_kernel(program, kStep);
  Handle stream = nullptr;
  failures += program.cuda("cuStreamCreate", &stream, 1U);
  std::array<Handle, 2> events{};
  for (Handle& event : events) {
    failures += program.cuda("cuEventCreate", &event, 0U);
  }
  wait_for_go();
  for (int step = 0; step < steps; ++step) {
    failures += program.launch("cuLaunchKernel", stream);
    failures += program.cuda("cuEventRecord", events[static_cast<std::size_t>(step) % 2], stream);
    if (step > 0) {
      failures +=
          program.cuda("cuEventSynchronize", events[static_cast<std::size_t>(step - 1) % 2]);
    }
    pause_for(kBetweenSteps);
  }
  failures += program.cuda("cuStreamSynchronize", stream);
  touch("SHIM_TEST_STOP");
  report_gate();
  return failures;
}

// Requests of 20 ms; the program asks now and then whether they are done.
int run_serve_polling(Program& program, int requests) {
  constexpr std::chrono::milliseconds kBetweenQuestions{4};
  constexpr int kNotReady = 600;
  int failures = use_kernel(program, kStep);
  wait_for_go();
  for (int request = 0; request <= requests; ++request) {
    failures += program.launch("cuLaunchKernel", nullptr);
    int status = kNotReady;
    while (status == kNotReady) {
      pause_for(kBetweenQuestions);
      status = program.cuda("cuStreamQuery", Handle{nullptr});
    }
    failures += status == 0 ? 0 : 1;
    pause_for(kOnTheHost);
  }
  touch("SHIM_TEST_STOP");
  report_gate();
  return failures;
}

}  // namespace carpool::shim_test
