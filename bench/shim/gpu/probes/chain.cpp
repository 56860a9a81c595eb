// Probes l and m: a request as a graph, short kernels one after the other, as another process sees
// it whose streams wait: what MPS adds to it, and what the waiting streams take from it.
#include "probes.hpp"
#include "timing.hpp"

namespace probes {
namespace {

constexpr int kKernels = 300;
constexpr unsigned long long kLength = 5000;  // ns of a kernel

void launch_chain(const Gpu& gpu) {
  for (int i = 0; i < kKernels; ++i) {
    gpu.launch_spin(static_cast<unsigned>(gpu.sms), kLength);
  }
}

CUgraphExec graph_of_chain(const Gpu& gpu) {
  CUgraph graph{};
  CUgraphExec made{};
  NEED(cuStreamBeginCapture(gpu.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  launch_chain(gpu);
  NEED(cuStreamEndCapture(gpu.stream, &graph));
  NEED(cuGraphInstantiateWithFlags(&made, graph, 0));
  return made;
}

template <class Launch>
std::vector<double> times_of(const Gpu& gpu, int count, const Launch& launch) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    const double began = now_ns();
    launch();
    gpu.wait();
    times.push_back((now_ns() - began) / 1e3);
  }
  return times;
}

}  // namespace

int chain(const char* ptx, int count) {
  const Gpu gpu(ptx);
  const CUgraphExec graph = graph_of_chain(gpu);
  const auto launch_graph = [&] { NEED(cuGraphLaunch(graph, gpu.stream)); };
  static_cast<void>(times_of(gpu, 20, launch_graph));
  const std::vector<double> graphs = times_of(gpu, count, launch_graph);
  const std::vector<double> launches = times_of(gpu, count, [&] { launch_chain(gpu); });
  constexpr std::size_t kBytes = 4096;
  CUdeviceptr memory{};
  void* pinned = nullptr;
  NEED(cuMemAlloc(&memory, kBytes));
  NEED(cuMemAllocHost(&pinned, kBytes));
  const std::vector<double> requests = times_of(gpu, count, [&] {
    NEED(cuMemcpyHtoDAsync(memory, pinned, kBytes, gpu.stream));
    launch_graph();
    NEED(cuMemcpyDtoHAsync(pinned, memory, kBytes, gpu.stream));
  });
  answer({{"graph p50, us", quantile(graphs, 0.5)},
          {"graph p95, us", quantile(graphs, 0.95)},
          {"launches p50, us", quantile(launches, 0.5)},
          {"launches p95, us", quantile(launches, 0.95)},
          {"graph between copies p50, us", quantile(requests, 0.5)},
          {"graph between copies p95, us", quantile(requests, 0.95)}});
  return 0;
}

}  // namespace probes
