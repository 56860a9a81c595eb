#include "graph.hpp"

#include <algorithm>

#include "memory.hpp"

namespace fake_cuda {

int Node::type() const {
  struct TypeOf {
    int operator()(const KernelTask&) const { return kNodeKernel; }
    int operator()(const CopyTask&) const { return kNodeCopy; }
    int operator()(const SetTask&) const { return kNodeSet; }
    int operator()(const HostTask&) const { return kNodeHost; }
    int operator()(const CallbackTask&) const { return kNodeHost; }
    int operator()(const RecordTask&) const { return kNodeRecordEvent; }
    int operator()(const WaitTask&) const { return kNodeWaitEvent; }
    int operator()(const ValueTask&) const { return kNodeMemoryOperation; }
    int operator()(const AllocTask&) const { return kNodeAlloc; }
    int operator()(const FreeTask&) const { return kNodeFree; }
    int operator()(const EmptyTask&) const { return kNodeEmpty; }
    int operator()(const GraphTask&) const { return kNodeGraph; }
  };
  return std::visit(TypeOf(), task);
}

Node* Graph::add(Task task, std::vector<Node*> after) {
  nodes.push_back(std::make_unique<Node>());
  Node* node = nodes.back().get();
  node->graph = this;
  node->task = std::move(task);
  node->after = std::move(after);
  return node;
}

Graphs& Graphs::get() {
  static Graphs* const graphs = new Graphs;  // NOLINT(cppcoreguidelines-owning-memory)
  return *graphs;
}

Graph* Graphs::add(std::shared_ptr<Graph> graph) {
  Graph* handle = graph.get();
  graphs_[handle] = std::move(graph);
  return handle;
}

std::shared_ptr<Graph> Graphs::find(Graph* graph) const {
  const auto found = graphs_.find(graph);
  return found == graphs_.end() ? nullptr : found->second;
}

bool Graphs::knows(const Node* node) const {
  return std::ranges::any_of(graphs_, [&](const auto& graph) {
    return std::ranges::any_of(graph.second->nodes,
                               [&](const auto& each) { return each.get() == node; });
  });
}

std::shared_ptr<Graph> Graphs::clone(const Graph& graph) {
  auto copy = std::make_shared<Graph>();
  std::map<const Node*, Node*> twins;
  for (const auto& node : graph.nodes) {
    std::vector<Node*> after;
    for (const Node* other : node->after) {
      after.push_back(twins.at(other));
    }
    twins[node.get()] = copy->add(node->task, std::move(after));
  }
  return copy;
}

void flatten(const Graph& graph, bool outermost, std::vector<GraphExec::Step>& steps) {
  for (const auto& node : graph.nodes) {
    if (const auto* inner = std::get_if<GraphTask>(&node->task); inner != nullptr) {
      flatten(*inner->graph, false, steps);
    } else {
      steps.push_back({outermost ? node.get() : nullptr, node->task, node->type()});
    }
  }
}

GraphExec* Graphs::instantiate(const Graph& graph, std::uint64_t flags) {
  auto exec = std::make_unique<GraphExec>();
  exec->flags = flags;
  exec->device = current_context() == nullptr ? 0 : current_context()->device;
  flatten(graph, true, exec->steps);
  for (const auto& node : graph.nodes) {
    exec->types.push_back(node->type());
  }
  for (const GraphExec::Step& step : exec->steps) {
    if (const auto* alloc = std::get_if<AllocTask>(&step.task); alloc != nullptr) {
      exec->bytes += alloc->parameters.bytes;
    }
  }
  GraphExec* handle = exec.get();
  execs_[handle] = std::move(exec);
  return handle;
}

bool Graphs::remove(Driver& driver, GraphExec* exec) {
  const auto found = execs_.find(exec);
  if (found == execs_.end()) {
    return false;
  }
  if (exec->has_memory) {
    discharge(driver, exec->device, exec->bytes);
  }
  execs_.erase(found);
  return true;
}

bool Graphs::knows(const GraphExec* exec) const {
  return execs_.contains(const_cast<GraphExec*>(exec));
}

Result launch_graph(Driver& driver, Guard& guard, Stream& stream, GraphExec& exec) {
  if (exec.bytes > 0 && !exec.has_memory) {
    if (!charge(driver, exec.device, exec.bytes)) {
      return kOutOfMemory;
    }
    exec.has_memory = true;
  }
  driver.counts().add(Count::graph_launches);
  for (const GraphExec::Step& step : exec.steps) {
    Operation operation = operation_of(driver, stream, step.task, true);
    operation.complete = [inner = std::move(operation.complete),
                          counts = &driver.counts()](std::int64_t when) {
      counts->add(Count::graph_nodes);
      if (inner) {
        inner(when);
      }
    };
    driver.enqueue(guard, stream, std::move(operation));
  }
  return kSuccess;
}

}  // namespace fake_cuda
