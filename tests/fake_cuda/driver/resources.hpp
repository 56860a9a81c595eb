// Multiprocessors of a device as green contexts take them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "../abi/types.hpp"

namespace fake_cuda {

// What a green context is made of.
struct ResourceDescriptor {
  int device = 0;
  std::uint32_t sms = 0;
};

// All descriptors of the process; a program cannot give one back.
class Descriptors {
 public:
  static Descriptors& get();

  ResourceDescriptor* add(const ResourceDescriptor& descriptor);
  [[nodiscard]] bool knows(const ResourceDescriptor* descriptor);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<ResourceDescriptor>> all_;
};

}  // namespace fake_cuda
