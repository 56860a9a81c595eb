#include "interpose/library/graphs.hpp"

#include <sys/mman.h>

#include "interpose/library/captures.hpp"
#include "interpose/library/fixed_table.hpp"
#include "interpose/library/memory/charge.hpp"
#include "interpose/library/process.hpp"
#include "interpose/library/wrappers.hpp"

namespace carpool::interpose {

namespace {

constexpr int kMostDepth = 16;  // of graphs within graphs

// Kernels of executable graphs and of captured ones, plus one.
constinit FixedTable<8192> graph_kernels;     // NOLINT: shared by all threads
constinit FixedTable<1024> captured_kernels;  // NOLINT

class NodeList {
 public:
  explicit NodeList(std::size_t count) : bytes_(count * sizeof(Handle)) {
    void* const memory =
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    nodes_ = memory == MAP_FAILED ? nullptr : static_cast<Handle*>(memory);
  }
  ~NodeList() {
    if (nodes_ != nullptr) {
      ::munmap(static_cast<void*>(nodes_), bytes_);
    }
  }
  NodeList(const NodeList&) = delete;
  NodeList& operator=(const NodeList&) = delete;
  [[nodiscard]] Handle* nodes() const { return nodes_; }

 private:
  std::size_t bytes_;
  Handle* nodes_ = nullptr;
};

void add_content(Handle graph, int depth, GraphContent& content);

void add_node(Handle node, int depth, GraphContent& content) {
  int type = -1;
  if (call_real<Status(Handle, int*)>(Symbol::cuGraphNodeGetType, node, &type) != kSuccess) {
    return;
  }
  if (type == kKernelNode) {
    ++content.kernels;
  } else if (type == kChildGraphNode) {
    Handle child = nullptr;
    if (call_real<Status(Handle, Handle*)>(Symbol::cuGraphChildGraphNodeGetGraph, node, &child) ==
        kSuccess) {
      add_content(child, depth + 1, content);
    }
  } else if (type == kAllocationNode) {
    AllocationNode allocation{};
    if (call_real<Status(Handle, AllocationNode*)>(
            Symbol::cuGraphMemAllocNodeGetParams, node, &allocation) == kSuccess) {
      content.allocated_bytes += allocation.bytes;
    }
  }
}

void add_content(Handle graph, int depth, GraphContent& content) {
  using GetNodes = Status(Handle, Handle*, std::size_t*);
  std::size_t count = 0;
  if (depth > kMostDepth ||
      call_real<GetNodes>(Symbol::cuGraphGetNodes, graph, nullptr, &count) != kSuccess ||
      count == 0) {
    return;
  }
  const NodeList list(count);
  if (list.nodes() == nullptr ||
      call_real<GetNodes>(Symbol::cuGraphGetNodes, graph, list.nodes(), &count) != kSuccess) {
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    add_node(list.nodes()[i], depth, content);
  }
}

std::uint64_t key_of(Handle executable) {
  return reinterpret_cast<std::uintptr_t>(executable);
}

template <class AskDriver>
Status instantiate(Handle* executable, Handle graph, const AskDriver& ask_driver) {
  const GraphContent content = content_of(graph);
  const auto ask_and_count = [&] {
    const Status status = ask_driver();
    if (status == kSuccess) {
      graph_kernels.set(key_of(*executable), content.kernels + 1);
    }
    return status;
  };
  if (content.allocated_bytes == 0) {
    return ask_and_count();
  }
  return allocate(current_device(),
                  AllocationKind::Graph,
                  content.allocated_bytes,
                  ask_and_count,
                  [executable] { return key_of(*executable); });
}

}  // namespace

GraphContent content_of(Handle graph) {
  GraphContent content;
  if (capture_alive()) {
    const std::uint64_t found = captured_kernels.find(key_of(graph));
    content.kernels = found == 0 ? 0 : found - 1;
  } else if (graph != nullptr) {
    add_content(graph, 0, content);
  }
  return content;
}

void graph_captured(Handle graph, std::uint64_t kernels) {
  if (graph != nullptr) {
    captured_kernels.set(key_of(graph), kernels + 1);
  }
}

std::uint64_t kernels_of_graph(Handle executable) {
  const std::uint64_t found = graph_kernels.find(key_of(executable));
  return found == 0 ? 0 : found - 1;
}

// NOLINTBEGIN(readability-identifier-naming)

#define INSTANTIATE(NAME, PARAMETERS, ...)                                                     \
  Status NAME PARAMETERS {                                                                     \
    const Call call;                                                                           \
    const auto ask_driver = [&] { return REAL(NAME, __VA_ARGS__); };                           \
    return call.counts() && executable != nullptr ? instantiate(executable, graph, ask_driver) \
                                                  : ask_driver();                              \
  }
#define INSTANTIATE_WITH_LOG(NAME)                                                              \
  INSTANTIATE(NAME,                                                                             \
              (Handle * executable, Handle graph, Handle * node, char* log, std::size_t bytes), \
              executable,                                                                       \
              graph,                                                                            \
              node,                                                                             \
              log,                                                                              \
              bytes)
INSTANTIATE_WITH_LOG(cuGraphInstantiate)
INSTANTIATE_WITH_LOG(cuGraphInstantiate_v2)
INSTANTIATE(cuGraphInstantiateWithFlags,
            (Handle * executable, Handle graph, unsigned long long flags),
            executable,
            graph,
            flags)
INSTANTIATE(cuGraphInstantiateWithParams,
            (Handle * executable, Handle graph, void* parameters),
            executable,
            graph,
            parameters)
INSTANTIATE(cuGraphInstantiateWithParams_ptsz,
            (Handle * executable, Handle graph, void* parameters),
            executable,
            graph,
            parameters)

Status cuGraphExecDestroy(Handle executable) {
  const Call call;
  const auto ask_driver = [&] { return REAL(cuGraphExecDestroy, executable); };
  if (!call.counts()) {
    return ask_driver();
  }
  graph_kernels.erase(key_of(executable));
  return free_allocation(AllocationKind::Graph, key_of(executable), ask_driver);
}

// NOLINTEND(readability-identifier-naming)

}  // namespace carpool::interpose
