// Calls that tests make often.
#pragma once

#include <gtest/gtest.h>

#include "../abi/functions.hpp"

namespace fake_cuda {

// A kernel of this name, from a module of this process.
inline Function* kernel(const char* name) {
  static Module* module = nullptr;
  if (module == nullptr) {
    EXPECT_EQ(cuModuleLoadData(&module, ""), kSuccess);
  }
  Function* function = nullptr;
  EXPECT_EQ(cuModuleGetFunction(&function, module, name), kSuccess);
  return function;
}

inline Result launch(Function* function,
                     Stream* stream,
                     unsigned blocks = 132,
                     void** parameters = nullptr) {
  return cuLaunchKernel(function, blocks, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr);
}

inline Stream* new_stream(unsigned flags = kNonBlocking) {
  Stream* stream = nullptr;
  EXPECT_EQ(cuStreamCreate(&stream, flags), kSuccess);
  return stream;
}

inline constexpr std::size_t kMiB = 1 << 20;

// What cuMemGetInfo calls free.
inline std::size_t free_bytes() {
  std::size_t free = 0;
  EXPECT_EQ(cuMemGetInfo_v2(&free, nullptr), kSuccess);
  return free;
}

inline Event* new_event() {
  Event* event = nullptr;
  EXPECT_EQ(cuEventCreate(&event, 0), kSuccess);
  return event;
}

}  // namespace fake_cuda
