// Graphs and their nodes.
#include "../driver/graph.hpp"

#include <algorithm>

#include "../driver/define.hpp"
#include "../driver/kernel_task.hpp"
#include "../driver/memory.hpp"

namespace fake_cuda {
namespace {

Result create(Graph** graph) {
  const Guard guard = Driver::get().lock();
  *graph = Graphs::get().add(std::make_shared<Graph>());
  return kSuccess;
}

Result destroy(Graph* graph) {
  const Guard guard = Driver::get().lock();
  return Graphs::get().remove(graph) ? kSuccess : kInvalidValue;
}

Result add(Node** node, Graph* graph, Node* const* after, std::size_t count, Task task) {
  const Guard guard = Driver::get().lock();
  const std::shared_ptr<Graph> target = Graphs::get().find(graph);
  const bool known = target && std::all_of(after, after + count, [&](const Node* each) {
                       return std::ranges::any_of(
                           target->nodes, [&](const auto& own) { return own.get() == each; });
                     });
  if (!known) {
    return kInvalidValue;
  }
  *node = target->add(std::move(task), std::vector<Node*>(after, after + count));
  return kSuccess;
}

KernelNodeParams widened(const KernelNodeParams1* params) {
  return {params->function,
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
          nullptr};
}

Result add_kernel(Node** node,
                  Graph* graph,
                  Node* const* after,
                  std::size_t count,
                  const KernelNodeParams& params) {
  KernelTask task;
  if (const Result result = make_kernel_task(task, params); result != kSuccess) {
    return result;
  }
  return add(node, graph, after, count, task);
}

// The task of a node, if it is of this kind.
template <class Kind>
Kind* task_of(Node* node) {
  return Graphs::get().knows(node) ? std::get_if<Kind>(&node->task) : nullptr;
}

Result get_kernel(Node* node, KernelNodeParams* params) {
  const Guard guard = Driver::get().lock();
  KernelTask* task = task_of<KernelTask>(node);
  if (task == nullptr) {
    return kInvalidValue;
  }
  node->parameters = {&task->parameter};
  *params = {task->function,
             task->grid[0],
             task->grid[1],
             task->grid[2],
             task->block[0],
             task->block[1],
             task->block[2],
             task->shared_bytes,
             task->parameter == 0 ? nullptr : node->parameters.data(),
             nullptr,
             nullptr,
             nullptr};
  return kSuccess;
}

Result get_kernel1(Node* node, KernelNodeParams1* params) {
  KernelNodeParams wide{};
  const Result result = get_kernel(node, &wide);
  *params = {wide.function,
             wide.grid_x,
             wide.grid_y,
             wide.grid_z,
             wide.block_x,
             wide.block_y,
             wide.block_z,
             wide.shared_bytes,
             wide.parameters,
             wide.extra};
  return result;
}

Result set_kernel(Node* node, const KernelNodeParams& params) {
  KernelTask changed;
  if (const Result result = make_kernel_task(changed, params); result != kSuccess) {
    return result;
  }
  const Guard guard = Driver::get().lock();
  KernelTask* task = task_of<KernelTask>(node);
  if (task == nullptr) {
    return kInvalidValue;
  }
  *task = changed;
  return kSuccess;
}

Result get_copy(Node* node, Copy3D* copy) {
  const Guard guard = Driver::get().lock();
  const CopyTask* task = task_of<CopyTask>(node);
  if (task == nullptr) {
    return kInvalidValue;
  }
  *copy = task->copy;
  return kSuccess;
}

Result get_set(Node* node, MemsetNodeParams* set) {
  const Guard guard = Driver::get().lock();
  const SetTask* task = task_of<SetTask>(node);
  if (task == nullptr) {
    return kInvalidValue;
  }
  *set = task->set;
  return kSuccess;
}

Result add_child(Node** node, Graph* graph, Node* const* after, std::size_t count, Graph* child) {
  std::shared_ptr<Graph> inner;
  {
    const Guard guard = Driver::get().lock();
    inner = Graphs::get().find(child);
  }
  return inner ? add(node, graph, after, count, GraphTask{Graphs::clone(*inner)}) : kInvalidValue;
}

Result get_child(Node* node, Graph** graph) {
  const Guard guard = Driver::get().lock();
  const GraphTask* task = task_of<GraphTask>(node);
  if (task == nullptr) {
    return kInvalidValue;
  }
  *graph = Graphs::get().add(task->graph);
  return kSuccess;
}

Result type_of(Node* node, int* type) {
  const Guard guard = Driver::get().lock();
  if (!Graphs::get().knows(node)) {
    return kInvalidValue;
  }
  *type = node->type();
  return kSuccess;
}

Result list_nodes(Graph* graph, Node** nodes, std::size_t* count) {
  const Guard guard = Driver::get().lock();
  const std::shared_ptr<Graph> known = Graphs::get().find(graph);
  if (!known) {
    return kInvalidValue;
  }
  const std::size_t all = known->nodes.size();
  if (nodes == nullptr) {
    *count = all;
    return kSuccess;
  }
  for (std::size_t number = 0; number < *count; ++number) {
    nodes[number] = number < all ? known->nodes[number].get() : nullptr;
  }
  *count = std::min(*count, all);
  return kSuccess;
}

// The address is known at once; the device is asked when the graph is first launched.
Result add_allocation(
    Node** node, Graph* graph, Node* const* after, std::size_t count, AllocNodeParams* params) {
  {
    const Guard guard = Driver::get().lock();
    params->address = Heap::get().map_host(params->bytes, MemoryKind::Graph);
  }
  return params->address == 0 ? kOutOfMemory : add(node, graph, after, count, AllocTask{*params});
}

Result get_allocation(Node* node, AllocNodeParams* params) {
  const Guard guard = Driver::get().lock();
  const AllocTask* task = task_of<AllocTask>(node);
  if (task == nullptr) {
    return kInvalidValue;
  }
  *params = task->parameters;
  return kSuccess;
}

}  // namespace

FAKE_CUDA_DEFINE(cuGraphCreate, (Graph * *graph, unsigned), create(graph))
FAKE_CUDA_DEFINE(cuGraphDestroy, (Graph * graph), destroy(graph))
FAKE_CUDA_DEFINE(cuGraphAddKernelNode,
                 (Node * *node,
                  Graph* graph,
                  Node* const* after,
                  std::size_t count,
                  const KernelNodeParams1* params),
                 add_kernel(node, graph, after, count, widened(params)))
FAKE_CUDA_DEFINE(cuGraphAddKernelNode_v2,
                 (Node * *node,
                  Graph* graph,
                  Node* const* after,
                  std::size_t count,
                  const KernelNodeParams* params),
                 add_kernel(node, graph, after, count, *params))
FAKE_CUDA_DEFINE(cuGraphKernelNodeGetParams,
                 (Node * node, KernelNodeParams1* params),
                 get_kernel1(node, params))
FAKE_CUDA_DEFINE(cuGraphKernelNodeGetParams_v2,
                 (Node * node, KernelNodeParams* params),
                 get_kernel(node, params))
FAKE_CUDA_DEFINE(cuGraphKernelNodeSetParams,
                 (Node * node, const KernelNodeParams1* params),
                 set_kernel(node, widened(params)))
FAKE_CUDA_DEFINE(cuGraphKernelNodeSetParams_v2,
                 (Node * node, const KernelNodeParams* params),
                 set_kernel(node, *params))
FAKE_CUDA_DEFINE(cuGraphAddMemcpyNode,
                 (Node * *node,
                  Graph* graph,
                  Node* const* after,
                  std::size_t count,
                  const Copy3D* copy,
                  Context*),
                 add(node, graph, after, count, CopyTask{*copy}))
FAKE_CUDA_DEFINE(cuGraphMemcpyNodeGetParams, (Node * node, Copy3D* copy), get_copy(node, copy))
FAKE_CUDA_DEFINE(cuGraphAddMemsetNode,
                 (Node * *node,
                  Graph* graph,
                  Node* const* after,
                  std::size_t count,
                  const MemsetNodeParams* set,
                  Context*),
                 add(node, graph, after, count, SetTask{*set}))
FAKE_CUDA_DEFINE(cuGraphMemsetNodeGetParams,
                 (Node * node, MemsetNodeParams* set),
                 get_set(node, set))
FAKE_CUDA_DEFINE(
    cuGraphAddHostNode,
    (Node * *node, Graph* graph, Node* const* after, std::size_t count, const HostNodeParams* host),
    add(node, graph, after, count, HostTask{host->function, host->data}))
FAKE_CUDA_DEFINE(cuGraphAddEmptyNode,
                 (Node * *node, Graph* graph, Node* const* after, std::size_t count),
                 add(node, graph, after, count, EmptyTask{}))
FAKE_CUDA_DEFINE(cuGraphAddChildGraphNode,
                 (Node * *node, Graph* graph, Node* const* after, std::size_t count, Graph* child),
                 add_child(node, graph, after, count, child))
FAKE_CUDA_DEFINE(cuGraphChildGraphNodeGetGraph,
                 (Node * node, Graph** graph),
                 get_child(node, graph))
FAKE_CUDA_DEFINE(cuGraphNodeGetType, (Node * node, int* type), type_of(node, type))
FAKE_CUDA_DEFINE(cuGraphGetNodes,
                 (Graph * graph, Node** nodes, std::size_t* count),
                 list_nodes(graph, nodes, count))
FAKE_CUDA_DEFINE(
    cuGraphAddMemAllocNode,
    (Node * *node, Graph* graph, Node* const* after, std::size_t count, AllocNodeParams* params),
    add_allocation(node, graph, after, count, params))
FAKE_CUDA_DEFINE(cuGraphMemAllocNodeGetParams,
                 (Node * node, AllocNodeParams* params),
                 get_allocation(node, params))
FAKE_CUDA_DEFINE(
    cuGraphAddMemFreeNode,
    (Node * *node, Graph* graph, Node* const* after, std::size_t count, DevicePtr address),
    add(node, graph, after, count, FreeTask{address}))

}  // namespace fake_cuda
