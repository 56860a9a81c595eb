// Converts CUPTI's records to records of the activity file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "gpu/cupti/abi.hpp"
#include "gpu/cupti/activity_format.hpp"
#include "gpu/cupti/inject/kernel_ids.hpp"
#include "gpu/cupti/inject/record_file.hpp"
#include "gpu/cupti/inject/vendor_library.hpp"

namespace carpool::gpu::inject {

// Used by one thread.
class ActivityDecoder {
 public:
  ActivityDecoder(const CuptiFunctions& functions, RecordFile& file, std::int64_t clock_offset)
      : functions_(functions), file_(file), clock_offset_(clock_offset) {}

  // Keeps only records that start in [from, to).
  void keep_from(std::int64_t from_ns) { from_ = from_ns; }
  void keep_until(std::int64_t to_ns) { to_ = to_ns; }

  void decode(std::uint8_t* buffer, std::size_t valid);

  [[nodiscard]] std::uint64_t launches() const { return launches_; }
  [[nodiscard]] std::uint64_t kept() const { return launches_ + operations_; }
  // Records without times: CUPTI had no room on the device, or the flush was forced.
  [[nodiscard]] std::uint64_t without_time() const { return without_time_; }
  [[nodiscard]] std::int64_t last_start() const { return last_start_; }
  // The devices in use, by their numbers in the program.
  [[nodiscard]] const std::set<std::uint32_t>& devices() const { return devices_; }

 private:
  void kernel(const cupti::KernelRecord& record);
  template <class Record>
  void memory(const Record& record, activity_format::MemoryKind kind, std::uint64_t graph_node);
  [[nodiscard]] bool wanted(std::uint64_t start, std::uint64_t end);
  [[nodiscard]] std::int64_t clock(std::uint64_t at) const;
  void use_device(std::uint32_t device);
  void write_out();

  const CuptiFunctions& functions_;
  RecordFile& file_;
  std::int64_t clock_offset_;  // from CUPTI's clock to monotonic_ns()
  std::int64_t from_ = INT64_MAX;
  std::int64_t to_ = INT64_MAX;
  KernelIds kernels_;
  std::set<std::uint32_t> devices_;
  std::vector<activity_format::Launch> batch_;
  std::vector<activity_format::MemoryOperation> operation_batch_;
  std::uint64_t launches_ = 0;
  std::uint64_t operations_ = 0;
  std::uint64_t without_time_ = 0;
  std::int64_t last_start_ = 0;
};

}  // namespace carpool::gpu::inject
