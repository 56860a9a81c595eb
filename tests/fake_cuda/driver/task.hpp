// What a stream or a graph node can be told to do.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "../abi/types.hpp"

namespace fake_cuda {

struct Function {
  Module* module = nullptr;
  std::string name;
  std::int64_t ns = 0;
  std::array<unsigned, 3> block{1, 1, 1};  // of cuFuncSetBlockShape
  bool loaded = false;
};

struct KernelTask {
  Function* function = nullptr;
  std::array<unsigned, 3> grid{1, 1, 1};
  std::array<unsigned, 3> block{1, 1, 1};
  unsigned shared_bytes = 0;
  int priority = 0;
  bool cooperative = false;
  const GreenContext* green = nullptr;  // whose part of the device it runs on
  std::uint64_t parameter = 0;          // the first one, of kernels that have an effect

  [[nodiscard]] std::uint64_t blocks() const {
    return static_cast<std::uint64_t>(grid[0]) * grid[1] * grid[2];
  }
};

struct CopyTask {
  Copy3D copy{};
};

struct SetTask {
  MemsetNodeParams set{};
};

struct HostTask {
  HostFunction function = nullptr;
  void* data = nullptr;
};

// cuStreamAddCallback.
struct CallbackTask {
  StreamCallback function = nullptr;
  Stream* stream = nullptr;
  void* data = nullptr;
};

struct RecordTask {
  Event* event = nullptr;
};

struct WaitTask {
  Event* event = nullptr;
};

struct ValueTask {
  DevicePtr address = 0;
  std::uint64_t value = 0;
  unsigned flags = 0;
  bool wide = false;
  bool waits = false;
};

struct AllocTask {
  AllocNodeParams parameters{};
};

struct FreeTask {
  DevicePtr address = 0;
};

struct EmptyTask {};

struct GraphTask {
  std::shared_ptr<Graph> graph;
};

using Task = std::variant<KernelTask,
                          CopyTask,
                          SetTask,
                          HostTask,
                          CallbackTask,
                          RecordTask,
                          WaitTask,
                          ValueTask,
                          AllocTask,
                          FreeTask,
                          EmptyTask,
                          GraphTask>;

}  // namespace fake_cuda
