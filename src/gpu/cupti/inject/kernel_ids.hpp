// Ids of kernels: one per distinct (name, grid, block, dynamic shared memory).
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "gpu/cupti/abi.hpp"
#include "gpu/cupti/inject/record_file.hpp"

namespace carpool::gpu::inject {

// Used by one thread.
class KernelIds {
 public:
  // The id of the record's kernel; a new kernel is written to the file.
  [[nodiscard]] std::uint32_t id_of(const cupti::KernelRecord& record, RecordFile& file);

 private:
  struct Known {
    std::string name;
    activity_format::Kernel kernel;
  };
  [[nodiscard]] bool is(std::uint32_t id, const cupti::KernelRecord& record) const;
  [[nodiscard]] std::uint32_t find_or_add(const cupti::KernelRecord& record, RecordFile& file);

  std::vector<Known> known_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_pointer_;     // hash → latest id
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_value_;  // hash → id
};

}  // namespace carpool::gpu::inject
