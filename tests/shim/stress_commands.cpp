// A command of the program that does everything with streams and events that requests are found by,
// in several threads and in any order.
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <random>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "interpose/library/driver_abi.hpp"
#include "program.hpp"
#include "request_sight.hpp"

namespace carpool::shim_test {
namespace {

using interpose::kNotReady;

constexpr std::size_t kBytes = 64;

// What all threads use.
struct Shared {
  std::array<Handle, 2> streams{};
  std::array<Handle, 2> events{};
  std::atomic<int> called{0};
};

class Chaos {
 public:
  Chaos(Program& program, Shared& shared, unsigned seed)
      : program_(program), shared_(shared), random_(seed) {
    call("cuCtxSetCurrent", program.context);
    call("cuModuleGetFunction", &kernel_, program.module, "spin_50us");
    call("cuMemAlloc_v2", &memory_, kBytes);
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      call("cuStreamCreate", &streams_[i], 1U);
      call("cuEventCreate", &events_[i], 0U);
    }
  }

  void step() {
    const Handle stream = any(streams_, shared_.streams);
    const Handle event = any(events_, shared_.events);
    void* const host = host_.data();
    void (*const count)(void*) = [](void* data) {
      static_cast<std::atomic<int>*>(data)->fetch_add(1);
    };
    void* const called = &shared_.called;
    switch (below(14)) {
      case 0:
        return call("cuEventRecord", event, stream);
      case 1:
        return call("cuStreamWaitEvent", stream, event, 0U);
      case 2:
        return ask("cuEventQuery", event);
      case 3:
        return ask("cuStreamQuery", stream);
      case 4:
        return call("cuEventSynchronize", event);
      case 5:
        return call("cuStreamSynchronize", stream);
      case 6:
        return call("cuMemcpyHtoDAsync_v2", memory_, host, kBytes, stream);
      case 7:
        return call("cuMemcpyDtoHAsync_v2", host, memory_, kBytes, stream);
      case 8:
        ++callbacks_;
        return call("cuLaunchHostFunc", stream, count, called);
      case 9:
        call("cuStreamDestroy_v2", streams_[0]);
        return call("cuStreamCreate", &streams_[0], below(2));
      case 10:
        call("cuEventDestroy_v2", events_[0]);
        return call("cuEventCreate", &events_[0], 0U);
      default:
        return call("cuLaunchKernel",
                    kernel_,
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
  }
  [[nodiscard]] int failures() const { return failures_; }
  [[nodiscard]] int callbacks() const { return callbacks_; }

 private:
  template <class... Arguments>
  void call(const char* name, Arguments... arguments) {
    failures_ += program_.cuda(name, arguments...) == 0 ? 0 : 1;
  }
  void ask(const char* name, Handle of) {
    const int status = program_.cuda(name, of);
    failures_ += status == 0 || status == kNotReady ? 0 : 1;
  }
  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
  Handle any(const std::array<Handle, 2>& own, const std::array<Handle, 2>& shared) {
    return below(4) == 0 ? shared[below(2)] : own[below(2)];
  }

  Program& program_;
  Shared& shared_;
  std::minstd_rand random_;
  Handle kernel_ = nullptr;
  DevicePointer memory_ = 0;
  std::array<char, kBytes> host_{};
  std::array<Handle, 2> streams_{};
  std::array<Handle, 2> events_{};
  int failures_ = 0;
  int callbacks_ = 0;
};

}  // namespace

int run_serve_at_random(Program& program, int steps) {
  constexpr unsigned kThreads = 4;
  constexpr std::chrono::milliseconds kLease{120};
  Shared shared;
  std::atomic<int> failures{0};
  std::atomic<int> callbacks{0};
  for (std::size_t i = 0; i < shared.streams.size(); ++i) {
    failures += program.cuda("cuStreamCreate", &shared.streams[i], 1U);
    failures += program.cuda("cuEventCreate", &shared.events[i], 0U);
  }
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      Chaos chaos(program, shared, thread + 1);
      for (int step = 0; step < steps; ++step) {
        chaos.step();
      }
      failures += chaos.failures();
      callbacks += chaos.callbacks();
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  failures += program.cuda("cuCtxSynchronize");
  while (shared.called.load() < callbacks.load()) {
    pause_for(std::chrono::milliseconds{1});
  }
  pause_for(kLease);
  const RequestSight sight;
  print("busy", sight.busy());
  print("waiting", sight.waiting());
  print("active", sight.request_is_active() ? 1 : 0);
  report_gate();
  return failures;
}

}  // namespace carpool::shim_test
