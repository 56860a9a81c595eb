// Probe i: whether a kernel of the primary context can be launched into a part of the SMs, in the
// order of the default stream, and what that costs.
#include "confined.hpp"

#include "probes.hpp"

namespace probes {
namespace {

constexpr int kKernels = 200;

template <class Launch>
double microseconds_each(const Gpu& gpu, const Launch& launch) {
  std::vector<double> times;
  for (int round = 0; round < 5; ++round) {
    NEED(cuCtxSynchronize());
    const double began = now_ns();
    for (int i = 0; i < kKernels; ++i) {
      launch();
    }
    NEED(cuCtxSynchronize());
    times.push_back((now_ns() - began) / 1e3 / kKernels);
  }
  gpu.wait();
  return quantile(times, 0.5);
}

template <class Launch>
double processor_ns_each(const Launch& launch) {
  std::vector<double> times;
  for (int round = 0; round < 20; ++round) {
    NEED(cuCtxSynchronize());
    const double began = now_ns();
    for (int i = 0; i < 50; ++i) {
      launch();
    }
    times.push_back((now_ns() - began) / 50);
  }
  NEED(cuCtxSynchronize());
  return quantile(times, 0.5);
}

}  // namespace

int probe_i(const char* ptx) {
  const Gpu gpu(ptx);
  const Confined half(static_cast<unsigned>(gpu.sms) / 2);
  CUevent of_primary{};
  NEED(cuEventCreate(&of_primary, CU_EVENT_DISABLE_TIMING));
  const auto waves = static_cast<unsigned>(gpu.sms) * 64;
  const auto plain = [&](CUstream stream, unsigned blocks, unsigned long long length) {
    void* parameters[] = {&length};
    NEED(cuLaunchKernel(gpu.spin, blocks, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr));
  };
  const double made_began = now_ns();
  const Confined quarter(static_cast<unsigned>(gpu.sms) / 4);
  const double made_ms = (now_ns() - made_began) / 1e6;
  half.launch_spin(gpu, nullptr, 1, 1000);
  NEED(cuCtxSynchronize());
  answer({
      {"sms", gpu.sms},
      {"sms of half", half.sms},
      {"sms of a quarter", quarter.sms},
      {"made in ms", made_ms},
      {"event of the primary context on its stream, code",
       static_cast<double>(cuEventRecord(of_primary, half.stream))},
      {"waves of 20 us, us each", microseconds_each(gpu, [&] { plain(nullptr, waves, 20'000); })},
      {"waves of 20 us on half, us each",
       microseconds_each(gpu, [&] { half.launch_spin(gpu, nullptr, waves, 20'000); })},
      {"waves of 20 us on a quarter, us each",
       microseconds_each(gpu, [&] { quarter.launch_spin(gpu, nullptr, waves, 20'000); })},
      {"one block of 20 us, us each", microseconds_each(gpu, [&] { plain(nullptr, 1, 20'000); })},
      {"one block of 20 us on half, us each",
       microseconds_each(gpu, [&] { half.launch_spin(gpu, nullptr, 1, 20'000); })},
      {"processor, ns each", processor_ns_each([&] { plain(nullptr, 1, 1000); })},
      {"processor on half, ns each",
       processor_ns_each([&] { half.launch_spin(gpu, nullptr, 1, 1000); })},
  });
  return 0;
}

}  // namespace probes
