// Probes d and e: how long a short kernel of high priority waits for the work of another process.
#include <atomic>
#include <optional>
#include <string_view>
#include <thread>
#include <unistd.h>

#include "confined.hpp"
#include "probes.hpp"
#include "timing.hpp"

namespace probes {
namespace {

constexpr unsigned long long kLong = 2'000'000;  // ns
constexpr unsigned long long kShort = 10'000;
constexpr int kDepth = 4;  // kernels in flight

}  // namespace

// persistent: one block per multiprocessor, each for 2 ms. waves: 64 times as many blocks of 500
// us. confined: the same on half of the multiprocessors. Until standard input ends.
int best_effort(const char* ptx, const char* kind) {
  const Gpu gpu(ptx);
  const bool persistent = std::string_view(kind) == "persistent";
  const auto blocks = static_cast<unsigned>(gpu.sms) * (persistent ? 1U : 64U);
  const unsigned long long length = persistent ? kLong : kLong / 4;
  std::optional<Confined> half;
  if (std::string_view(kind) == "confined") {
    half.emplace(static_cast<unsigned>(gpu.sms) / 2);
  }
  CUevent events[kDepth] = {};
  for (CUevent& event : events) {
    NEED(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  }
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    char byte = 0;
    while (::read(STDIN_FILENO, &byte, 1) > 0) {
    }
    stop = true;
  });
  long launched = 0;
  const double began = now_ns();
  std::printf("ready\n");
  std::fflush(stdout);
  for (; !stop; ++launched) {
    CUevent event = events[launched % kDepth];
    NEED(cuEventSynchronize(event));
    if (half) {
      half->launch_spin(gpu, gpu.stream, blocks, length);
    } else {
      gpu.launch_spin(blocks, length);
    }
    NEED(cuEventRecord(event, gpu.stream));
  }
  gpu.wait();
  const double seconds = (now_ns() - began) / 1e9;
  reader.join();
  answer({{"kernels_per_s", static_cast<double>(launched) / seconds}});
  return 0;
}

// Microseconds from the launch of a kernel of 10 us to its end, as its process sees it.
int arrivals(const char* ptx, int count) {
  const Gpu gpu(ptx, true);
  std::vector<double> times;
  gpu.launch_spin(1, kShort);
  gpu.wait();
  for (int i = 0; i < count; ++i) {
    sleep_us(3000 + 137 * (i % 16));  // at all phases of the other's kernels
    const double began = now_ns();
    gpu.launch_spin(1, kShort);
    gpu.wait();
    times.push_back((now_ns() - began) / 1e3);
  }
  answer({{"p50_us", quantile(times, 0.5)},
          {"p95_us", quantile(times, 0.95)},
          {"p99_us", quantile(times, 0.99)},
          {"max_us", quantile(times, 1.0)}});
  return 0;
}

}  // namespace probes
