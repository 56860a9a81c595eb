// Capture and graphs, while another thread allocates.
#include <atomic>
#include <cstdio>
#include <thread>

#include "scenarios.hpp"

namespace fake_cuda {
namespace {

int mode_named(const std::string& name) {
  if (name == "thread") {
    return kCaptureThreadLocal;
  }
  return name == "relaxed" ? kCaptureRelaxed : kCaptureGlobal;
}

// Another thread's allocation between two captured launches.
Result allocate_elsewhere(const Api& api, Context* context, bool relaxed) {
  Result result = kSuccess;
  std::thread([&] {
    need(api.cuCtxSetCurrent(context), "cuCtxSetCurrent");
    int mode = kCaptureRelaxed;
    if (relaxed) {
      need(api.cuThreadExchangeStreamCaptureMode(&mode), "cuThreadExchangeStreamCaptureMode");
    }
    DevicePtr address = 0;
    result = api.cuMemAlloc_v2(&address, 1 << 20);
    if (result == kSuccess) {
      need(api.cuMemFree_v2(address), "cuMemFree_v2");
    }
  }).join();
  return result;
}

Result launch(const Api& api, Stream* stream, void** parameters) {
  return api.cuLaunchKernel(
      kernel_named(api, "increment"), 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
}

}  // namespace

int run_graphs(const Api& api, const Options& options) {
  Context* context = use_primary(api);
  Stream* stream = nullptr;
  need(api.cuStreamCreate(&stream, kNonBlocking), "cuStreamCreate");
  DevicePtr number = 0;
  need(api.cuMemAlloc_v2(&number, 8), "cuMemAlloc_v2");
  need(api.cuMemsetD8_v2(number, 0, 8), "cuMemsetD8_v2");
  void* parameters[] = {&number};
  need(launch(api, stream, parameters), "cuLaunchKernel");
  const int mode = mode_named(options.text("mode", "global"));
  need(api.cuStreamBeginCapture_v2(stream, mode), "cuStreamBeginCapture_v2");
  need(launch(api, stream, parameters), "cuLaunchKernel in a capture");
  const std::string helper = options.text("helper", "none");
  const Result elsewhere =
      helper == "none" ? kSuccess : allocate_elsewhere(api, context, helper == "relaxed");
  (void)launch(api, stream, parameters);
  Graph* graph = nullptr;
  const Result ended = api.cuStreamEndCapture(stream, &graph);
  std::printf("elsewhere=%d\nended=%d\n", elsewhere, ended);
  const std::uint64_t count = options.number("count", 3);
  if (ended == kSuccess) {
    GraphExec* exec = nullptr;
    InstantiateParams instantiate{};
    need(api.cuGraphInstantiateWithParams(&exec, graph, &instantiate),
         "cuGraphInstantiateWithParams");
    need(api.cuGraphUpload(exec, stream), "cuGraphUpload");
    for (std::uint64_t each = 0; each < count; ++each) {
      need(api.cuGraphLaunch(exec, stream), "cuGraphLaunch");
    }
    need(api.cuStreamSynchronize(stream), "cuStreamSynchronize");
    need(api.cuGraphExecDestroy(exec), "cuGraphExecDestroy");
    need(api.cuGraphDestroy(graph), "cuGraphDestroy");
  }
  std::uint64_t ran = 0;
  need(api.cuMemcpyDtoH_v2(&ran, number, 8), "cuMemcpyDtoH_v2");
  std::printf("ran=%lu\n", ran);
  return ran == (ended == kSuccess ? 1 + 2 * count : 1) ? 0 : 1;
}

}  // namespace fake_cuda
