// Allocation of every family until the driver refuses.
#include <cstdio>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "scenarios.hpp"

namespace fake_cuda {
namespace {

using Take = std::function<Result(std::uint64_t bytes)>;
using Release = std::function<void()>;

struct Family {
  Take take;
  Release release_all;
};

Family of_addresses(const Api& api, std::function<Result(DevicePtr*, std::uint64_t)> call) {
  auto held = std::make_shared<std::vector<DevicePtr>>();
  return {[held, call = std::move(call)](std::uint64_t bytes) {
            DevicePtr address = 0;
            const Result result = call(&address, bytes);
            if (result == kSuccess) {
              held->push_back(address);
            }
            return result;
          },
          [held, &api] {
            for (const DevicePtr address : *held) {
              need(api.cuMemFree_v2(address), "cuMemFree_v2");
            }
          }};
}

Family physical(const Api& api, int location) {
  auto held = std::make_shared<std::vector<std::uint64_t>>();
  return {[held, location, &api](std::uint64_t bytes) {
            AllocationProperties properties{};
            properties.type = 1;
            properties.location = {location, 0};
            std::uint64_t handle = 0;
            const Result result = api.cuMemCreate(&handle, bytes, &properties, 0);
            if (result == kSuccess) {
              held->push_back(handle);
            }
            return result;
          },
          [held, &api] {
            for (const std::uint64_t handle : *held) {
              need(api.cuMemRelease(handle), "cuMemRelease");
            }
          }};
}

Family arrays(const Api& api) {
  auto held = std::make_shared<std::vector<Array*>>();
  return {[held, &api](std::uint64_t bytes) {
            const ArrayDescriptor shape{1024, bytes / 4096, 0x20, 1};
            Array* array = nullptr;
            const Result result = api.cuArrayCreate_v2(&array, &shape);
            if (result == kSuccess) {
              held->push_back(array);
            }
            return result;
          },
          [held, &api] {
            for (Array* array : *held) {
              need(api.cuArrayDestroy(array), "cuArrayDestroy");
            }
          }};
}

// A graph with an allocation of its own, launched.
Family graphs(const Api& api) {
  auto held = std::make_shared<std::vector<GraphExec*>>();
  return {[held, &api](std::uint64_t bytes) {
            Graph* graph = nullptr;
            need(api.cuGraphCreate(&graph, 0), "cuGraphCreate");
            AllocNodeParams params{};
            params.pool.type = 1;
            params.pool.location = {kLocationDevice, 0};
            params.bytes = bytes;
            Node* node = nullptr;
            Node* end = nullptr;
            need(api.cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &params),
                 "cuGraphAddMemAllocNode");
            need(api.cuGraphAddMemFreeNode(&end, graph, &node, 1, params.address),
                 "cuGraphAddMemFreeNode");
            GraphExec* exec = nullptr;
            Result result = api.cuGraphInstantiateWithFlags(&exec, graph, 0);
            if (result == kSuccess) {
              held->push_back(exec);
              result = api.cuGraphLaunch(exec, nullptr);
            }
            need(api.cuGraphDestroy(graph), "cuGraphDestroy");
            return result;
          },
          [held, &api] {
            for (GraphExec* exec : *held) {
              need(api.cuGraphExecDestroy(exec), "cuGraphExecDestroy");
            }
          }};
}

Family family_named(const Api& api, const std::string& name) {
  if (name == "physical" || name == "physical_host") {
    return physical(api, name == "physical" ? kLocationDevice : 3);
  }
  if (name == "array") {
    return arrays(api);
  }
  if (name == "graph") {
    return graphs(api);
  }
  if (name == "pitch") {
    return of_addresses(api, [&api](DevicePtr* address, std::uint64_t bytes) {
      std::size_t pitch = 0;
      return api.cuMemAllocPitch_v2(address, &pitch, 1024, bytes / 1024, 4);
    });
  }
  if (name == "managed") {
    return of_addresses(api, [&api](DevicePtr* address, std::uint64_t bytes) {
      return api.cuMemAllocManaged(address, bytes, 1);
    });
  }
  if (name == "async" || name == "pool") {
    Pool* pool = nullptr;
    need(api.cuDeviceGetDefaultMemPool(&pool, 0), "cuDeviceGetDefaultMemPool");
    return of_addresses(api, [&api, pool, name](DevicePtr* address, std::uint64_t bytes) {
      return name == "async" ? api.cuMemAllocAsync(address, bytes, nullptr)
                             : api.cuMemAllocFromPoolAsync(address, bytes, pool, nullptr);
    });
  }
  return of_addresses(api, [&api](DevicePtr* address, std::uint64_t bytes) {
    return api.cuMemAlloc_v2(address, bytes);
  });
}

std::size_t free_bytes(const Api& api) {
  std::size_t free = 0;
  std::size_t total = 0;
  need(api.cuMemGetInfo_v2(&free, &total), "cuMemGetInfo_v2");
  return free;
}

}  // namespace

int run_allocations(const Api& api, const Options& options) {
  use_primary(api);
  const std::uint64_t bytes = options.number("mib", 2) * kMiB;
  const std::uint64_t count = options.number("count", ~std::uint64_t{0});
  const std::size_t before = free_bytes(api);
  const Family family = family_named(api, options.text("family", "device"));
  std::uint64_t taken = 0;
  Result result = kSuccess;
  while (result == kSuccess && taken / bytes < count) {
    result = family.take(bytes);
    taken += result == kSuccess ? bytes : 0;
  }
  std::printf("allocated=%lu\nresult=%d\nfree=%zu\n", taken, result, free_bytes(api));
  std::fflush(stdout);
  family.release_all();
  need(api.cuCtxSynchronize(), "cuCtxSynchronize");
  std::printf("free_after=%zu\n", free_bytes(api));
  return free_bytes(api) >= before ? 0 : 1;
}

}  // namespace fake_cuda
