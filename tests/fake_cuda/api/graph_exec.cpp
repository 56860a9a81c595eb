// Graphs that can be launched: four ways to make one, and how to change it.
#include <algorithm>

#include "../driver/define.hpp"
#include "../driver/graph.hpp"
#include "../driver/kernel_task.hpp"

namespace fake_cuda {
namespace {

Result instantiate(GraphExec** exec, Graph* graph, std::uint64_t flags) {
  const Guard guard = Driver::get().lock();
  const std::shared_ptr<Graph> known = Graphs::get().find(graph);
  if (!known) {
    return kInvalidValue;
  }
  *exec = Graphs::get().instantiate(*known, flags);
  return kSuccess;
}

Result instantiate_logged(
    GraphExec** exec, Graph* graph, Node** node, char* log, std::size_t size) {
  if (node != nullptr) {
    *node = nullptr;
  }
  if (log != nullptr && size > 0) {
    *log = '\0';
  }
  return instantiate(exec, graph, 0);
}

Result instantiate_params(GraphExec** exec, Graph* graph, InstantiateParams* params) {
  if (params == nullptr) {
    return kInvalidValue;
  }
  const Result result = instantiate(exec, graph, params->flags);
  params->error_node = nullptr;
  params->result = result == kSuccess ? 0 : 1;
  return result;
}

Result flags_of_exec(GraphExec* exec, std::uint64_t* flags) {
  const Guard guard = Driver::get().lock();
  if (!Graphs::get().knows(exec)) {
    return kInvalidValue;
  }
  *flags = exec->flags;
  return kSuccess;
}

// In a capture a launch becomes a graph within the graph.
std::shared_ptr<Graph> as_graph(const GraphExec& exec) {
  auto graph = std::make_shared<Graph>();
  std::vector<Node*> after;
  for (const GraphExec::Step& step : exec.steps) {
    after = {graph->add(step.task, after)};
  }
  return graph;
}

Result launch(GraphExec* exec, Stream* handle, Default meaning) {
  Driver& driver = Driver::get();
  Guard guard = driver.lock();
  Stream* stream = driver.find_stream(handle, meaning);
  if (stream == nullptr) {
    return driver.why_no_stream(handle);
  }
  if (!Graphs::get().knows(exec)) {
    return kInvalidHandle;
  }
  Result result = kSuccess;
  const Task within = stream->capture ? GraphTask{as_graph(*exec)} : GraphTask{};
  if (Captures::get().intercept(driver, *stream, within, Wait::No, result)) {
    return result;
  }
  return launch_graph(driver, guard, *stream, *exec);
}

Result upload(GraphExec* exec) {
  const Guard guard = Driver::get().lock();
  return Graphs::get().knows(exec) ? kSuccess : kInvalidHandle;
}

Result destroy_exec(GraphExec* exec) {
  const Guard guard = Driver::get().lock();
  return Graphs::get().remove(Driver::get(), exec) ? kSuccess : kInvalidHandle;
}

ExecUpdateInfo difference(const GraphExec& exec, const Graph& graph) {
  if (graph.nodes.size() != exec.types.size()) {
    return {kUpdateTopologyChanged, nullptr, nullptr};
  }
  for (std::size_t number = 0; number < exec.types.size(); ++number) {
    if (graph.nodes[number]->type() != exec.types[number]) {
      return {kUpdateNodeTypeChanged, graph.nodes[number].get(), nullptr};
    }
  }
  return {0, nullptr, nullptr};
}

Result update(GraphExec* exec, Graph* graph, ExecUpdateInfo& info) {
  const Guard guard = Driver::get().lock();
  const std::shared_ptr<Graph> known = Graphs::get().find(graph);
  if (!known || !Graphs::get().knows(exec)) {
    return kInvalidValue;
  }
  info = difference(*exec, *known);
  if (info.result != 0) {
    return kExecUpdateFailure;
  }
  // Nodes of the first graph stay the names of the steps.
  std::vector<GraphExec::Step> steps;
  flatten(*known, true, steps);
  for (std::size_t number = 0; number < std::min(steps.size(), exec->steps.size()); ++number) {
    exec->steps[number].task = steps[number].task;
  }
  return kSuccess;
}

Result update1(GraphExec* exec, Graph* graph, Node** node, int* outcome) {
  ExecUpdateInfo info{};
  const Result result = update(exec, graph, info);
  if (node != nullptr) {
    *node = info.error_node;
  }
  if (outcome != nullptr) {
    *outcome = info.result;
  }
  return result;
}

Result set_kernel(GraphExec* exec, Node* node, const KernelNodeParams& params) {
  KernelTask task;
  if (const Result result = make_kernel_task(task, params); result != kSuccess) {
    return result;
  }
  const Guard guard = Driver::get().lock();
  if (!Graphs::get().knows(exec)) {
    return kInvalidValue;
  }
  const auto step = std::ranges::find(exec->steps, node, &GraphExec::Step::source);
  if (step == exec->steps.end() || step->type != kNodeKernel) {
    return kInvalidValue;
  }
  step->task = task;
  return kSuccess;
}

Result set_kernel1(GraphExec* exec, Node* node, const KernelNodeParams1* params) {
  return set_kernel(exec,
                    node,
                    {params->function,
                     params->grid_x,
                     params->grid_y,
                     params->grid_z,
                     params->block_x,
                     params->block_y,
                     params->block_z,
                     params->shared_bytes,
                     params->parameters,
                     params->extra,
                     nullptr,
                     nullptr});
}

}  // namespace

FAKE_CUDA_DEFINE(cuGraphInstantiate,
                 (GraphExec * *exec, Graph* graph, Node** node, char* log, std::size_t size),
                 instantiate_logged(exec, graph, node, log, size))
FAKE_CUDA_DEFINE(cuGraphInstantiate_v2,
                 (GraphExec * *exec, Graph* graph, Node** node, char* log, std::size_t size),
                 instantiate_logged(exec, graph, node, log, size))
FAKE_CUDA_DEFINE(cuGraphInstantiateWithFlags,
                 (GraphExec * *exec, Graph* graph, unsigned long long flags),
                 instantiate(exec, graph, flags))
FAKE_CUDA_DEFINE(cuGraphInstantiateWithParams,
                 (GraphExec * *exec, Graph* graph, InstantiateParams* params),
                 instantiate_params(exec, graph, params))
FAKE_CUDA_DEFINE(cuGraphInstantiateWithParams_ptsz,
                 (GraphExec * *exec, Graph* graph, InstantiateParams* params),
                 instantiate_params(exec, graph, params))
FAKE_CUDA_DEFINE(cuGraphExecGetFlags,
                 (GraphExec * exec, std::uint64_t* flags),
                 flags_of_exec(exec, flags))
FAKE_CUDA_DEFINE_TWINS(cuGraphLaunch,
                       _ptsz,
                       (GraphExec * exec, Stream* stream),
                       launch(exec, stream, kDefault))
FAKE_CUDA_DEFINE(cuGraphUpload, (GraphExec * exec, Stream*), upload(exec))
FAKE_CUDA_DEFINE(cuGraphUpload_ptsz, (GraphExec * exec, Stream*), upload(exec))
FAKE_CUDA_DEFINE(cuGraphExecDestroy, (GraphExec * exec), destroy_exec(exec))
FAKE_CUDA_DEFINE(cuGraphExecUpdate,
                 (GraphExec * exec, Graph* graph, Node** node, int* outcome),
                 update1(exec, graph, node, outcome))
FAKE_CUDA_DEFINE(cuGraphExecUpdate_v2,
                 (GraphExec * exec, Graph* graph, ExecUpdateInfo* info),
                 update(exec, graph, *info))
FAKE_CUDA_DEFINE(cuGraphExecKernelNodeSetParams,
                 (GraphExec * exec, Node* node, const KernelNodeParams1* params),
                 set_kernel1(exec, node, params))
FAKE_CUDA_DEFINE(cuGraphExecKernelNodeSetParams_v2,
                 (GraphExec * exec, Node* node, const KernelNodeParams* params),
                 set_kernel(exec, node, *params))

}  // namespace fake_cuda
