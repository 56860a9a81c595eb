#include "gpu/cupti/inject/kernel_ids.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

namespace carpool::gpu::inject {
namespace {

namespace format = activity_format;

std::string_view name_of(const cupti::KernelRecord& record) {
  return record.name != nullptr ? record.name : "";
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15U;
  hash = (hash ^ value) * kOdd;
  return hash ^ (hash >> 29U);
}

std::uint64_t mixed_shape(std::uint64_t hash, const cupti::KernelRecord& record) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    hash = mixed(hash, static_cast<std::uint32_t>(record.grid[axis]));
    hash = mixed(hash, static_cast<std::uint32_t>(record.block[axis]));
  }
  return mixed(hash, static_cast<std::uint32_t>(record.dynamic_shared));
}

format::Kernel facts_of(std::uint32_t id, const cupti::KernelRecord& record) {
  const auto size = [](std::int32_t value) {
    return static_cast<std::uint32_t>(std::max(value, 0));
  };
  format::Kernel kernel;
  kernel.id = id;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    kernel.grid[axis] = size(record.grid[axis]);
    kernel.block[axis] = size(record.block[axis]);
  }
  kernel.registers_per_thread = record.registers_per_thread;
  kernel.static_shared_bytes = size(record.static_shared);
  kernel.dynamic_shared_bytes = size(record.dynamic_shared);
  kernel.local_bytes_per_thread = record.local_per_thread;
  return kernel;
}

}  // namespace

std::uint32_t KernelIds::id_of(const cupti::KernelRecord& record, RecordFile& file) {
  // CUPTI uses one pointer per kernel name. Comparing is cheaper than hashing a name of a thousand
  // characters and still detects a pointer that is reused for another name.
  const std::uint64_t hash = mixed_shape(reinterpret_cast<std::uint64_t>(record.name), record);
  const auto [slot, added] = by_pointer_.try_emplace(hash, 0);
  if (added || !is(slot->second, record)) {
    slot->second = find_or_add(record, file);
  }
  return slot->second;
}

bool KernelIds::is(std::uint32_t id, const cupti::KernelRecord& record) const {
  const Known& known = known_[id];
  const format::Kernel asked = facts_of(id, record);
  return known.kernel.grid == asked.grid && known.kernel.block == asked.block &&
         known.kernel.dynamic_shared_bytes == asked.dynamic_shared_bytes &&
         known.name == name_of(record);
}

std::uint32_t KernelIds::find_or_add(const cupti::KernelRecord& record, RecordFile& file) {
  const std::uint64_t hash = mixed_shape(std::hash<std::string_view>{}(name_of(record)), record);
  const auto [begin, end] = by_value_.equal_range(hash);
  const auto same =
      std::find_if(begin, end, [&](const auto& entry) { return is(entry.second, record); });
  if (same != end) {
    return same->second;
  }
  const auto id = static_cast<std::uint32_t>(known_.size());
  known_.push_back({std::string(name_of(record)), facts_of(id, record)});
  by_value_.emplace(hash, id);
  file.kernel(known_.back().kernel, known_.back().name);
  return id;
}

}  // namespace carpool::gpu::inject
