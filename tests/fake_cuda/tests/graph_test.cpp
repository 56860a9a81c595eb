#include <vector>

#include <gtest/gtest.h>

#include "../control.hpp"
#include "calls.hpp"
#include "machine.hpp"

namespace fake_cuda {
namespace {

std::uint64_t read(DevicePtr address) {
  std::uint64_t value = 0;
  EXPECT_EQ(cuMemcpyDtoH_v2(&value, address, sizeof value), kSuccess);
  return value;
}

DevicePtr zero() {
  DevicePtr address = 0;
  EXPECT_EQ(cuMemAlloc_v2(&address, 8), kSuccess);
  EXPECT_EQ(cuMemsetD8_v2(address, 0, 8), kSuccess);
  return address;
}

// A graph of three nodes that adds two to the number.
Graph* captured(Stream* stream, DevicePtr number, DevicePtr copy) {
  void* parameters[] = {&number};
  EXPECT_EQ(cuStreamBeginCapture_v2(stream, kCaptureGlobal), kSuccess);
  EXPECT_EQ(launch(kernel("increment"), stream, 1, parameters), kSuccess);
  EXPECT_EQ(launch(kernel("increment"), stream, 1, parameters), kSuccess);
  EXPECT_EQ(cuMemcpyDtoDAsync_v2(copy, number, 8, stream), kSuccess);
  Graph* graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), kSuccess);
  return graph;
}

TEST(Graphs, RunAsOftenAsTheyAreLaunched) {
  EXPECT_TRUE(Machine().run([] {
    use_device();
    Stream* stream = new_stream();
    const DevicePtr number = zero();
    const DevicePtr copy = zero();
    Graph* graph = captured(stream, number, copy);
    std::vector<GraphExec*> execs(4);
    InstantiateParams params{};
    EXPECT_EQ(cuGraphInstantiate(&execs[0], graph, nullptr, nullptr, 0), kSuccess);
    EXPECT_EQ(cuGraphInstantiate_v2(&execs[1], graph, nullptr, nullptr, 0), kSuccess);
    EXPECT_EQ(cuGraphInstantiateWithFlags(&execs[2], graph, 0), kSuccess);
    EXPECT_EQ(cuGraphInstantiateWithParams(&execs[3], graph, &params), kSuccess);
    EXPECT_EQ(cuGraphDestroy(graph), kSuccess);
    for (GraphExec* exec : execs) {
      EXPECT_EQ(cuGraphLaunch(exec, stream), kSuccess);
    }
    EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
    EXPECT_EQ(read(copy), 8);
    EXPECT_EQ(fake_cuda_count("graph_launches"), 4);
    EXPECT_EQ(fake_cuda_count("graph_nodes"), 12);
    EXPECT_EQ(fake_cuda_count("graph_kernel_nodes"), 8);
    EXPECT_EQ(fake_cuda_count("kernel_launches"), 0);
    EXPECT_EQ(cuGraphExecDestroy(execs[0]), kSuccess);
    EXPECT_EQ(cuGraphLaunch(execs[0], stream), kInvalidHandle);
  }));
}

TEST(Graphs, AreBuiltNodeByNode) {
  EXPECT_TRUE(Machine("clock = virtual").run([] {
    use_device();
    Graph* inner = nullptr;
    Graph* outer = nullptr;
    ASSERT_EQ(cuGraphCreate(&inner, 0), kSuccess);
    ASSERT_EQ(cuGraphCreate(&outer, 0), kSuccess);
    KernelNodeParams params{
        kernel("spin_100us"), 132, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr, nullptr};
    Node* first = nullptr;
    Node* second = nullptr;
    Node* child = nullptr;
    EXPECT_EQ(cuGraphAddKernelNode_v2(&first, inner, nullptr, 0, &params), kSuccess);
    EXPECT_EQ(cuGraphAddChildGraphNode(&child, outer, nullptr, 0, inner), kSuccess);
    EXPECT_EQ(cuGraphAddKernelNode_v2(&second, outer, &child, 1, &params), kSuccess);
    EXPECT_EQ(cuGraphAddKernelNode_v2(&second, outer, &first, 1, &params), kInvalidValue);
    int type = -1;
    EXPECT_EQ(cuGraphNodeGetType(child, &type), kSuccess);
    EXPECT_EQ(type, kNodeGraph);
    std::size_t count = 0;
    EXPECT_EQ(cuGraphGetNodes(outer, nullptr, &count), kSuccess);
    EXPECT_EQ(count, 2);
    GraphExec* exec = nullptr;
    ASSERT_EQ(cuGraphInstantiateWithFlags(&exec, outer, 0), kSuccess);
    const std::int64_t before = fake_cuda_now();
    EXPECT_EQ(cuGraphLaunch(exec, nullptr), kSuccess);
    EXPECT_EQ(cuStreamSynchronize(nullptr), kSuccess);
    EXPECT_EQ(fake_cuda_now() - before, 200'000);
    params.function = kernel("spin_400us");
    EXPECT_EQ(cuGraphExecKernelNodeSetParams_v2(exec, second, &params), kSuccess);
    EXPECT_EQ(cuGraphLaunch(exec, nullptr), kSuccess);
    EXPECT_EQ(cuStreamSynchronize(nullptr), kSuccess);
    EXPECT_EQ(fake_cuda_now() - before, 700'000);
  }));
}

TEST(Graphs, AnUpdateKeepsTheShape) {
  EXPECT_TRUE(Machine().run([] {
    use_device();
    Stream* stream = new_stream();
    const DevicePtr first = zero();
    const DevicePtr second = zero();
    const DevicePtr copy = zero();
    Graph* old = captured(stream, first, copy);
    Graph* same = captured(stream, second, copy);
    Graph* other = nullptr;
    ASSERT_EQ(cuGraphCreate(&other, 0), kSuccess);
    GraphExec* exec = nullptr;
    ASSERT_EQ(cuGraphInstantiateWithFlags(&exec, old, 0), kSuccess);
    ExecUpdateInfo info{};
    EXPECT_EQ(cuGraphExecUpdate_v2(exec, other, &info), kExecUpdateFailure);
    EXPECT_EQ(info.result, kUpdateTopologyChanged);
    EXPECT_EQ(cuGraphExecUpdate_v2(exec, same, &info), kSuccess);
    EXPECT_EQ(cuGraphLaunch(exec, stream), kSuccess);
    EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
    EXPECT_EQ(read(first), 0);
    EXPECT_EQ(read(second), 2);
  }));
}

TEST(Graphs, ALaunchInACaptureIsAGraphWithinTheGraph) {
  EXPECT_TRUE(Machine().run([] {
    use_device();
    Stream* stream = new_stream();
    const DevicePtr number = zero();
    GraphExec* inner = nullptr;
    ASSERT_EQ(cuGraphInstantiateWithFlags(&inner, captured(stream, number, zero()), 0), kSuccess);
    ASSERT_EQ(cuStreamBeginCapture_v2(stream, kCaptureGlobal), kSuccess);
    EXPECT_EQ(cuGraphLaunch(inner, stream), kSuccess);
    EXPECT_EQ(fake_cuda_count("graph_launches"), 0);
    Graph* graph = nullptr;
    ASSERT_EQ(cuStreamEndCapture(stream, &graph), kSuccess);
    GraphExec* outer = nullptr;
    ASSERT_EQ(cuGraphInstantiateWithFlags(&outer, graph, 0), kSuccess);
    EXPECT_EQ(cuGraphLaunch(outer, stream), kSuccess);
    EXPECT_EQ(cuStreamSynchronize(stream), kSuccess);
    EXPECT_EQ(read(number), 2);
    EXPECT_EQ(fake_cuda_count("graph_kernel_nodes"), 2);
  }));
}

TEST(Graphs, AllocationNodesTakeMemoryAtTheFirstLaunch) {
  EXPECT_TRUE(Machine("memory = 16").run([] {
    use_device();
    Stream* stream = new_stream();
    ASSERT_EQ(cuStreamBeginCapture_v2(stream, kCaptureGlobal), kSuccess);
    DevicePtr address = 0;
    EXPECT_EQ(cuMemAllocAsync(&address, 10 << 20, stream), kSuccess);
    EXPECT_EQ(cuMemsetD8Async(address, 1, 16, stream), kSuccess);
    EXPECT_EQ(cuMemFreeAsync(address, stream), kSuccess);
    Graph* graph = nullptr;
    ASSERT_EQ(cuStreamEndCapture(stream, &graph), kSuccess);
    GraphExec* first = nullptr;
    GraphExec* second = nullptr;
    ASSERT_EQ(cuGraphInstantiateWithFlags(&first, graph, 0), kSuccess);
    ASSERT_EQ(cuGraphInstantiateWithFlags(&second, graph, 0), kSuccess);
    EXPECT_EQ(fake_cuda_count("allocated_bytes"), 0);
    EXPECT_EQ(cuGraphLaunch(first, stream), kSuccess);
    EXPECT_EQ(cuGraphLaunch(first, stream), kSuccess);
    EXPECT_EQ(fake_cuda_count("allocated_bytes"), 10 << 20);
    EXPECT_EQ(cuGraphLaunch(second, stream), kOutOfMemory);
    EXPECT_EQ(cuGraphExecDestroy(first), kSuccess);
    EXPECT_EQ(cuGraphLaunch(second, stream), kSuccess);
  }));
}

}  // namespace
}  // namespace fake_cuda
