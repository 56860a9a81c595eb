// Probe j: a stream that waits for a word of shared memory, so that the host could launch ahead of
// a gate that another process opens: what such a wait costs, how soon the GPU goes on, and whether
// other streams and other processes go on meanwhile.
#include "cuda.hpp"
#include "probes.hpp"
#include "shared_page.hpp"
#include "timing.hpp"

namespace probes {
namespace {

constexpr unsigned long long kLength = 5000;  // ns of a kernel
constexpr int kTimes = 300;

void wait_until_zero(CUstream stream, CUdeviceptr word) {
  NEED(cuStreamWaitValue64(stream, word, 0, CU_STREAM_WAIT_VALUE_EQ));
}

// Microseconds from `begin` to the end of a kernel, as the host sees it.
template <class Prepare, class Begin>
std::vector<double> times_to_end(const Gpu& gpu, const Prepare& prepare, const Begin& begin) {
  std::vector<double> times;
  for (int i = 0; i < kTimes; ++i) {
    prepare();
    sleep_us(500 + 37 * (i % 16));
    const double began = now_ns();
    begin();
    gpu.wait();
    times.push_back((now_ns() - began) / 1e3);
  }
  return times;
}

// Of `count` other streams, how many finish a kernel while one stream waits.
int streams_that_go_on(const Gpu& gpu, const SharedPage& page, CUdeviceptr word, int count) {
  std::vector<CUstream> streams(static_cast<std::size_t>(count));
  for (CUstream& stream : streams) {
    NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  }
  page.words[0] = 1;
  wait_until_zero(gpu.stream, word);
  gpu.launch_spin(1, kLength);
  for (const CUstream stream : streams) {
    NEED(cuLaunchKernel(gpu.empty, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr));
  }
  sleep_us(100'000);
  int done = 0;
  for (const CUstream stream : streams) {
    done += cuStreamQuery(stream) == CUDA_SUCCESS ? 1 : 0;
  }
  page.words[0] = 0;
  NEED(cuCtxSynchronize());
  for (const CUstream stream : streams) {
    NEED(cuStreamDestroy(stream));
  }
  return done;
}

}  // namespace

int probe_j(const char* ptx) {
  constexpr int kStreams = 32;
  const Gpu gpu(ptx);
  const SharedPage page;
  const CUdeviceptr word = page.register_with_gpu();
  wait_until_zero(gpu.stream, word);
  gpu.launch_spin(1, kLength);
  gpu.wait();
  const auto launch = [&] { gpu.launch_spin(1, kLength); };
  const auto close = [&] {
    page.words[0] = 1;
    wait_until_zero(gpu.stream, word);
    launch();
  };
  const std::vector<double> launched = times_to_end(gpu, [] {}, launch);
  const std::vector<double> opened = times_to_end(gpu, close, [&] { page.words[0] = 0; });
  const double plain = gpu_us(gpu, [](int) {});
  const auto with_gates = [&](int kernels_between) {
    return gpu_us(gpu, [&](int i) {
      if (i % kernels_between == 0) {
        wait_until_zero(gpu.stream, word);
      }
    });
  };
  answer({
      {"call, ns", cost(gpu, [&] { wait_until_zero(gpu.stream, word); })},
      {"gpu, us for each open gate", with_gates(1) - plain},
      {"gpu, us for an open gate before every tenth kernel", 10 * (with_gates(10) - plain)},
      {"launch to end p50, us", quantile(launched, 0.5)},
      {"launch to end p99, us", quantile(launched, 0.99)},
      {"gate opened to end p50, us", quantile(opened, 0.5)},
      {"gate opened to end p99, us", quantile(opened, 0.99)},
      {"other streams", kStreams},
      {"other streams that go on", streams_that_go_on(gpu, page, word, kStreams)},
  });
  return 0;
}

}  // namespace probes
