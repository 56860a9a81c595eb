// Commands of the program that serve requests by several threads, as frameworks do: one launches
// and another one waits, or both have requests of their own.
#include <array>
#include <atomic>
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
constexpr unsigned kNonBlocking = 1;

// What a thread serves with.
struct Server {
  Program& program;
  Handle kernel = nullptr;
  Handle stream = nullptr;
  Handle event = nullptr;
  DevicePointer device = 0;
  std::array<char, kBytes> host{};
  int failures = 0;

  Server(Program& own, const char* name) : program(own) {
    const auto& cuda = own.cuda;
    failures += cuda("cuCtxSetCurrent", own.context);
    failures += cuda("cuModuleGetFunction", &kernel, own.module, name);
    failures += cuda("cuStreamCreate", &stream, kNonBlocking);
    failures += cuda("cuEventCreate", &event, 0U);
    failures += cuda("cuMemAlloc_v2", &device, kBytes);
  }

  void copy_in() {
    void* const from = host.data();
    failures += program.cuda("cuMemcpyHtoDAsync_v2", device, from, kBytes, stream);
  }
  void launch() {
    failures += program.cuda("cuLaunchKernel",
                             kernel,
                             4U,
                             1U,
                             1U,
                             32U,
                             1U,
                             1U,
                             0U,
                             stream,
                             Program::nothing(),
                             Program::nothing());
  }
  void record() { failures += program.cuda("cuEventRecord", event, stream); }
  void wait_for_event() { failures += program.cuda("cuEventSynchronize", event); }
  void wait() { failures += program.cuda("cuStreamSynchronize", stream); }
};

// Looks, while work is on the GPU, whether the gate sees a request.
class Looks {
 public:
  void look_for(std::chrono::milliseconds span) {
    for (const Stopwatch watch; watch.seconds() * 1e3 < static_cast<double>(span.count());) {
      pause_for(std::chrono::milliseconds{1});
      ++looks_;
      seen_ += sight_.request_is_active() ? 1 : 0;
    }
  }
  void report() const { print("seen_percent", looks_ == 0 ? 0 : 100 * seen_ / looks_); }

 private:
  RequestSight sight_;
  std::uint64_t looks_ = 0;
  std::uint64_t seen_ = 0;
};

}  // namespace

// Requests of 20 ms; the program has other work to do before it waits for the event behind one.
// Beside them a thread serves short ones.
int run_serve_beside_short(Program& program, int requests) {
  Server server(program, "spin_20000us");
  Looks looks;
  std::atomic<bool> stop{false};
  int others = 0;
  std::thread other([&] {
    Server beside(program, "spin_200us");
    while (!stop.load()) {
      beside.copy_in();
      beside.launch();
      beside.wait();
      pause_for(std::chrono::milliseconds{3});
    }
    others = beside.failures;
  });
  for (int request = 0; request < requests; ++request) {
    server.copy_in();
    server.launch();
    server.record();
    looks.look_for(std::chrono::milliseconds{15});
    server.wait_for_event();
    pause_for(std::chrono::milliseconds{5});
  }
  stop.store(true);
  other.join();
  looks.report();
  report_gate();
  return server.failures + others;
}

// Requests of 20 ms; a thread asks all the time whether the stream is done, also while another one
// launches into it.
int run_serve_beside_questions(Program& program, int requests) {
  Server server(program, "spin_20000us");
  Looks looks;
  std::atomic<int> launched{0};
  std::atomic<int> done{0};
  std::thread asking([&] {
    program.cuda("cuCtxSetCurrent", program.context);
    while (done.load() < requests) {
      const int newest = launched.load();
      if (program.cuda("cuStreamQuery", server.stream) == 0) {
        done.store(newest);
      }
    }
  });
  for (int request = 1; request <= requests; ++request) {
    server.launch();
    launched.store(request);
    looks.look_for(std::chrono::milliseconds{10});
    while (done.load() < request) {
      pause_for(std::chrono::microseconds{100});
    }
    pause_for(std::chrono::milliseconds{3});
  }
  asking.join();
  looks.report();
  report_gate();
  return server.failures;
}

// Requests of 4 ms one after the other: a thread launches them, and another one waits for them.
int run_serve_for_another(Program& program, int requests) {
  Server server(program, "spin_4000us");
  std::atomic<int> launched{0};
  std::atomic<int> done{0};
  std::thread waiting([&] {
    program.cuda("cuCtxSetCurrent", program.context);
    for (int request = 1; request <= requests; ++request) {
      while (launched.load() < request) {
        std::this_thread::yield();
      }
      server.wait_for_event();
      done.store(request);
    }
  });
  for (int request = 1; request <= requests; ++request) {
    server.copy_in();
    server.launch();
    server.record();
    launched.store(request);
    while (done.load() < request) {
      std::this_thread::yield();
    }
  }
  waiting.join();
  report_gate();
  return server.failures;
}

// Requests of 7 ms, with inputs that are copied after a first kernel. The program asks about an
// event behind it, as pools of pinned memory do, and goes on while it is not done.
int run_serve_and_ask_between(Program& program, int requests) {
  Server server(program, "spin_2000us");
  for (int request = 0; request < requests; ++request) {
    server.copy_in();
    server.launch();
    server.record();
    program.cuda("cuEventQuery", server.event);  // it is not done, if the host is fast
    server.launch();
    server.launch();
    pause_for(std::chrono::microseconds{2500});
    program.cuda("cuEventQuery", server.event);
    server.copy_in();
    server.launch();
    server.wait();
    pause_for(std::chrono::milliseconds{3});
  }
  report_gate();
  return server.failures;
}

// The driver answers a wait with an error of the context while a callback is due. Callbacks that
// run all the same find what is theirs.
int run_serve_with_error(Program& program, int requests) {
  Server server(program, "spin_20000us");
  const RequestSight sight;
  std::atomic<int> called{0};
  void (*const count)(void*) = [](void* data) {
    static_cast<std::atomic<int>*>(data)->fetch_add(1);
  };
  void* const data = &called;
  std::uint64_t busy = 0;
  for (int request = 0; request < requests; ++request) {
    server.launch();
    server.failures += program.cuda("cuLaunchHostFunc", server.stream, count, data);
    server.failures += sight.busy() == 1 ? 0 : 1;
    server.failures += program.cuda("cuStreamSynchronize", server.stream) != 0 ? 0 : 1;
    busy += sight.busy();
    while (called.load() <= request) {
      pause_for(std::chrono::milliseconds{1});
    }
    busy += sight.busy();
  }
  print("busy", busy);
  report_gate();
  return server.failures;
}

// Requests of 20 ms, in turns waited for later and asked about; meanwhile a thread captures graphs.
int run_serve_beside_captures(Program& program, int requests) {
  constexpr int kNotReady = 600;
  Server server(program, "spin_20000us");
  Looks looks;
  std::atomic<bool> stop{false};
  int others = 0;
  std::thread capturing([&] { others = capture_until(program, stop, kRelaxedCapture); });
  for (int request = 0; request < requests; ++request) {
    server.launch();
    server.record();
    looks.look_for(std::chrono::milliseconds{10});
    while (request % 2 == 1 && program.cuda("cuEventQuery", server.event) == kNotReady) {
      pause_for(std::chrono::milliseconds{1});
    }
    server.wait_for_event();
    pause_for(std::chrono::milliseconds{5});
  }
  stop.store(true);
  capturing.join();
  looks.report();
  report_gate();
  return server.failures + others;
}

// Requests of 1.5 s; the program asks now and then whether they are done.
int run_serve_long(Program& program, int requests) {
  constexpr int kNotReady = 600;
  Server server(program, "spin_1500000us");
  Looks looks;
  for (int request = 0; request < requests; ++request) {
    server.launch();
    server.record();
    while (program.cuda("cuEventQuery", server.event) == kNotReady) {
      looks.look_for(std::chrono::milliseconds{5});
    }
  }
  looks.report();
  report_gate();
  return server.failures;
}

}  // namespace carpool::shim_test
