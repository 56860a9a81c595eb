// Commands of the program that serve requests as programs do whose begin or end is not plain: with
// several inputs, with work of other streams, launched ahead.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "base/clock.hpp"
#include "program.hpp"
#include "request_sight.hpp"

namespace carpool::shim_test {
namespace {

constexpr std::size_t kBytes = 4096;
constexpr const char* kStep = "spin_20000us";

// Two streams that do not wait for the legacy one, two events, and memory on both sides.
struct Service {
  Program& program;
  Handle compute = nullptr;
  Handle copies = nullptr;
  std::array<Handle, 2> events{};
  DevicePointer device = 0;
  std::array<char, kBytes> host{};
  int failures = 0;

  Service(Program& own, const char* kernel) : program(own) {
    failures += use_kernel(own, kernel);
    failures += own.cuda("cuStreamCreate", &compute, 1U);
    failures += own.cuda("cuStreamCreate", &copies, 1U);
    for (Handle& event : events) {
      failures += own.cuda("cuEventCreate", &event, 0U);
    }
    failures += own.cuda("cuMemAlloc_v2", &device, kBytes);
    wait_for_go();
  }

  void launch(Handle stream) { failures += program.launch("cuLaunchKernel", stream); }
  void record(std::size_t event, Handle stream) {
    failures += program.cuda("cuEventRecord", events.at(event), stream);
  }
  void wait(Handle stream) { failures += program.cuda("cuStreamSynchronize", stream); }
  void copy_in(Handle stream) {
    void* const from = host.data();
    failures += program.cuda("cuMemcpyHtoDAsync_v2", device, from, kBytes, stream);
  }
  void copy_out() {
    void* const to = host.data();
    failures += program.cuda("cuMemcpyDtoH_v2", to, device, kBytes);
  }
  [[nodiscard]] int end() const {
    touch("SHIM_TEST_STOP");
    report_gate();
    return failures;
  }
};

void pause_ms(int milliseconds) {
  pause_for(std::chrono::milliseconds{milliseconds});
}

}  // namespace

// Inputs that are copied and waited for one by one, one of them with a question about an event that
// is not done at first.
int run_serve_with_inputs(Program& program, int requests) {
  Service service(program, "spin_500us");
  for (int request = 0; request < requests; ++request) {
    for (int input = 0; input < 3; ++input) {
      service.copy_in(service.compute);
      service.wait(service.compute);
    }
    service.copy_in(service.compute);
    service.record(0, service.compute);
    while (program.cuda("cuEventQuery", service.events[0]) != 0) {
    }
    service.launch(service.compute);
    service.wait(service.compute);
  }
  return service.end();
}

// Inputs that are copied after a first kernel, with a question about an event that is done by then,
// as pools of pinned memory ask.
int run_serve_with_late_inputs(Program& program, int requests) {
  Service service(program, "spin_500us");
  for (int request = 0; request < requests; ++request) {
    service.copy_in(service.compute);
    service.launch(service.compute);
    service.copy_in(service.compute);
    service.record(0, service.compute);
    pause_for(std::chrono::microseconds{700});
    service.failures += program.cuda("cuEventQuery", service.events[0]);
    service.copy_in(service.compute);
    service.launch(service.compute);
    service.wait(service.compute);
  }
  return service.end();
}

// Back to back; work in another stream is never waited for.
int run_serve_with_strays(Program& program, int requests) {
  Service service(program, "spin_500us");
  for (int request = 0; request < requests; ++request) {
    service.copy_in(nullptr);
    service.launch(nullptr);
    service.launch(service.copies);
    service.copy_out();
  }
  return service.end();
}

// Two threads that serve back to back, each in a stream of its own.
int run_serve_by_threads(Program& program, int requests) {
  Service service(program, "spin_2000us");
  const auto serve = [&](Handle stream) {
    int failures = program.cuda("cuCtxSetCurrent", program.context);
    void* const host = service.host.data();
    for (int request = 0; request < requests / 2; ++request) {
      failures += program.cuda("cuMemcpyHtoDAsync_v2", service.device, host, kBytes, stream);
      failures += program.launch("cuLaunchKernel", stream);
      failures += program.cuda("cuStreamSynchronize", stream);
    }
    return failures;
  };
  int others = 0;
  std::thread other([&] { others = serve(service.copies); });
  service.failures += serve(service.compute);
  other.join();
  service.failures += others;
  return service.end();
}

// Copies whose direction the driver finds out by the addresses.
int run_serve_by_address(Program& program, int requests) {
  Service service(program, "spin_500us");
  const DevicePointer host = reinterpret_cast<std::uintptr_t>(service.host.data());
  for (int request = 0; request < requests; ++request) {
    service.failures += program.cuda("cuMemcpy", service.device, host, kBytes);
    service.launch(nullptr);
    service.failures += program.cuda("cuMemcpy", host, service.device, kBytes);
  }
  return service.end();
}

// The program asks once, when its work is done long ago.
int run_serve_and_ask_late(Program& program, int requests) {
  Service service(program, "spin_2000us");
  for (int request = 0; request < requests; ++request) {
    service.launch(service.compute);
    service.record(0, service.compute);
    pause_ms(5);
    service.failures += program.cuda("cuEventQuery", service.events[0]);
    pause_ms(2);
  }
  return service.end();
}

// Each step of 20 ms is launched before the one in front of it is waited for; the host takes 14 ms.
int run_serve_in_pipeline(Program& program, int requests) {
  Service service(program, kStep);
  for (std::size_t step = 0; step < static_cast<std::size_t>(requests); ++step) {
    service.launch(service.compute);
    service.record(step % 2, service.compute);
    if (step > 0) {
      service.failures += program.cuda("cuEventSynchronize", service.events.at((step - 1) % 2));
    }
    pause_ms(14);
  }
  return service.end();
}

// The program has other work to do before it waits for the event behind its request.
int run_serve_and_wait_later(Program& program, int requests) {
  Service service(program, kStep);
  for (int request = 0; request < requests; ++request) {
    service.launch(service.compute);
    service.record(0, service.compute);
    pause_ms(15);
    service.failures += program.cuda("cuEventSynchronize", service.events[0]);
    pause_ms(5);
  }
  return service.end();
}

// Before it waits for its request, the program waits for a copy and for a stream that have nothing
// to do with it.
int run_serve_beside_others(Program& program, int requests) {
  Service service(program, kStep);
  for (int request = 0; request < requests; ++request) {
    service.launch(service.compute);
    service.copy_out();
    service.wait(nullptr);
    service.wait(service.copies);
    service.wait(service.compute);
    pause_ms(5);
  }
  return service.end();
}

// Two requests at a time, in streams of their own; the second one ends first.
int run_serve_two_at_a_time(Program& program, int requests) {
  Service service(program, kStep);
  for (int request = 0; request < requests; request += 2) {
    service.launch(service.compute);
    pause_ms(5);
    service.launch(service.copies);
    service.wait(service.copies);
    service.wait(service.compute);
    pause_ms(5);
  }
  return service.end();
}

// Each request of 20 ms follows work in another stream, with an event behind it, that is never
// waited for.
int run_serve_after_strays(Program& program, int requests) {
  constexpr int kLooks = 10;
  Service service(program, kStep);
  const RequestSight sight;
  std::uint64_t seen = 0;
  for (int request = 0; request < requests; ++request) {
    service.failures += use_kernel(program, "spin_100us");
    service.launch(service.copies);
    service.record(0, service.copies);
    service.failures += use_kernel(program, kStep);
    service.launch(service.compute);
    service.wait(service.compute);
    for (int look = 0; look < kLooks; ++look) {
      pause_ms(2);
      seen += sight.request_is_active() ? 1 : 0;
    }
  }
  print("seen_percent", 100 * seen / static_cast<std::uint64_t>(kLooks * requests));
  return service.end();
}

}  // namespace carpool::shim_test
