// Pauses; how long a call takes the processor, and what it adds on the GPU.
#pragma once

#include <functional>
#include <time.h>

#include "cuda.hpp"

namespace probes {

inline void sleep_us(long microseconds) {
  const timespec length{0, microseconds * 1000};
  ::nanosleep(&length, nullptr);
}

// Median nanoseconds of a call, in batches that the queue of the stream holds.
inline double cost(const Gpu& gpu, const std::function<void()>& call) {
  constexpr int kBatch = 100;
  constexpr int kBatches = 30;
  std::vector<double> each;
  for (int batch = 0; batch < kBatches; ++batch) {
    gpu.wait();
    const double began = now_ns();
    for (int i = 0; i < kBatch; ++i) {
      call();
    }
    each.push_back((now_ns() - began) / kBatch);
  }
  gpu.wait();
  return quantile(each, 0.5);
}

// Median microseconds of the GPU for a kernel of 5 us, with what `after` queues behind each.
inline double gpu_us(const Gpu& gpu, const std::function<void(int)>& after) {
  constexpr int kKernels = 300;
  constexpr unsigned long long kLength = 5000;
  CUevent began{};
  CUevent ended{};
  NEED(cuEventCreate(&began, CU_EVENT_DEFAULT));
  NEED(cuEventCreate(&ended, CU_EVENT_DEFAULT));
  std::vector<double> times;
  for (int round = 0; round < 7; ++round) {
    gpu.launch_spin(1, 4'000'000);  // the rest is queued meanwhile
    NEED(cuEventRecord(began, gpu.stream));
    for (int i = 0; i < kKernels; ++i) {
      gpu.launch_spin(1, kLength);
      after(i);
    }
    NEED(cuEventRecord(ended, gpu.stream));
    gpu.wait();
    float milliseconds = 0;
    NEED(cuEventElapsedTime(&milliseconds, began, ended));
    times.push_back(1e3 * milliseconds / kKernels);
  }
  return quantile(times, 0.5);
}

}  // namespace probes
