// Probes of one process: a (what calls cost), b (the gap that a write-value leaves on the GPU), c
// (when another process sees it), h (throughput by the bound of work in flight).
#include <deque>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda.hpp"
#include "probes.hpp"
#include "shared_page.hpp"
#include "timing.hpp"

namespace probes {
namespace {

CUlaunchConfig one_block(const Gpu& gpu) {
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = gpu.stream;
  return config;
}

}  // namespace

// Nanoseconds of processor time of a launch and of the calls that could accompany it.
int probe_a(const char* ptx) {
  const Gpu gpu(ptx);
  const SharedPage page;
  const CUdeviceptr word = page.register_with_gpu();
  CUevent event{};
  NEED(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  NEED(cuEventRecord(event, gpu.stream));
  gpu.wait();
  CUlaunchConfig config = one_block(gpu);
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  CUlaunchConfig with_priority = config;
  with_priority.attrs = &attribute;
  with_priority.numAttrs = 1;
  std::uint64_t number = 0;
  gpu.launch_empty();
  std::map<std::string, double> found;
  found["cuLaunchKernel"] = cost(gpu, [&] { gpu.launch_empty(); });
  found["cuLaunchKernelEx"] =
      cost(gpu, [&] { NEED(cuLaunchKernelEx(&config, gpu.empty, nullptr, nullptr)); });
  found["cuLaunchKernelEx, priority"] =
      cost(gpu, [&] { NEED(cuLaunchKernelEx(&with_priority, gpu.empty, nullptr, nullptr)); });
  found["cuEventRecord"] = cost(gpu, [&] { NEED(cuEventRecord(event, gpu.stream)); });
  gpu.wait();
  found["cuEventQuery, complete"] = cost(gpu, [&] { NEED(cuEventQuery(event)); });
  found["cuStreamWriteValue64"] =
      cost(gpu, [&] { NEED(cuStreamWriteValue64(gpu.stream, word, ++number, 0)); });
  answer(found);
  return 0;
}

// Microseconds that a write-value or an event after each kernel adds on the GPU.
int probe_b(const char* ptx) {
  const Gpu gpu(ptx);
  const SharedPage page;
  const CUdeviceptr word = page.register_with_gpu();
  CUevent between{};
  NEED(cuEventCreate(&between, CU_EVENT_DISABLE_TIMING));
  const double plain = gpu_us(gpu, [](int) {});
  const double write = gpu_us(gpu, [&](int i) {
    NEED(cuStreamWriteValue64(gpu.stream, word, static_cast<std::uint64_t>(i), 0));
  });
  const double event = gpu_us(gpu, [&](int) { NEED(cuEventRecord(between, gpu.stream)); });
  answer({{"kernel_us", plain}, {"write_value_us", write - plain}, {"event_us", event - plain}});
  return 0;
}

// Microseconds from the call of a write-value until another process has seen it.
int probe_c(const char* ptx) {
  constexpr std::uint64_t kTimes = 500;
  const SharedPage page;  // 0: written by the GPU; 1: what the other process saw; 8…: when
  const SharedPage times;
  const pid_t other = ::fork();  // before CUDA is in use
  if (other == 0) {
    for (std::uint64_t number = 1; number <= kTimes; ++number) {
      while (page.words[0].load(std::memory_order_acquire) < number) {
      }
      times.words[number % 500].store(static_cast<std::uint64_t>(now_ns()));
      page.words[1].store(number, std::memory_order_release);
    }
    ::_exit(0);
  }
  const Gpu gpu(ptx);
  const CUdeviceptr word = page.register_with_gpu();
  std::vector<double> from_call;
  std::vector<double> from_own_sight;
  for (std::uint64_t number = 1; number <= kTimes; ++number) {
    const double called = now_ns();
    NEED(cuStreamWriteValue64(gpu.stream, word, number, 0));
    while (page.words[0].load(std::memory_order_acquire) < number) {
    }
    const double seen = now_ns();
    while (page.words[1].load(std::memory_order_acquire) < number) {
    }
    const auto there = static_cast<double>(times.words[number % 500].load());
    from_call.push_back((there - called) / 1e3);
    from_own_sight.push_back((there - seen) / 1e3);
  }
  int status = 0;
  ::waitpid(other, &status, 0);
  answer({{"call_to_other_p50_us", quantile(from_call, 0.5)},
          {"call_to_other_p99_us", quantile(from_call, 0.99)},
          {"own_to_other_p50_us", quantile(from_own_sight, 0.5)},
          {"own_to_other_p99_us", quantile(from_own_sight, 0.99)}});
  return status;
}

namespace {

// Kernels a second with at most so many nanoseconds of kernels in flight; 0: no bound.
double bounded_rate(const Gpu& gpu, unsigned long long length, double bound_ns) {
  constexpr double kSeconds = 0.25;
  std::deque<CUevent> in_flight;
  std::vector<CUevent> spare;
  long launched = 0;
  const auto reclaim = [&] {
    while (!in_flight.empty() && cuEventQuery(in_flight.front()) == CUDA_SUCCESS) {
      spare.push_back(in_flight.front());
      in_flight.pop_front();
    }
  };
  gpu.wait();
  const double began = now_ns();
  while (now_ns() - began < kSeconds * 1e9) {
    const double predicted =
        static_cast<double>(in_flight.size() + 1) * static_cast<double>(length);
    if (in_flight.size() >= 512 || (bound_ns > 0 && !in_flight.empty() && predicted > bound_ns)) {
      reclaim();
      continue;
    }
    CUevent event{};
    if (spare.empty()) {
      NEED(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    } else {
      event = spare.back();
      spare.pop_back();
    }
    gpu.launch_spin(static_cast<unsigned>(gpu.sms), length);
    NEED(cuEventRecord(event, gpu.stream));
    in_flight.push_back(event);
    ++launched;
  }
  gpu.wait();
  const double rate = static_cast<double>(launched) / ((now_ns() - began) / 1e9);
  for (const CUevent event : in_flight) {
    NEED(cuEventDestroy(event));
  }
  for (const CUevent event : spare) {
    NEED(cuEventDestroy(event));
  }
  return rate;
}

}  // namespace

// Throughput with a bound, of that without, for kernels of several lengths.
int probe_h(const char* ptx) {
  const Gpu gpu(ptx);
  std::map<std::string, double> found;
  for (const unsigned long long length : {5'000ULL, 50'000ULL, 500'000ULL}) {
    const double free_rate = bounded_rate(gpu, length, 0);
    for (const int bound_us : {50, 100, 200, 500, 1000, 2000}) {
      found[std::to_string(length / 1000) + " us kernels, " + std::to_string(bound_us) + " us"] =
          bounded_rate(gpu, length, 1e3 * bound_us) / free_rate;
    }
  }
  answer(found);
  return 0;
}

}  // namespace probes
