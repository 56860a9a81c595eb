// The library's end of the control file (activity_format.hpp).
#pragma once

#include <cstdint>
#include <string>

#include "gpu/cupti/activity_format.hpp"

namespace carpool::gpu::inject {

// Without a control file the order is always to record. Used by one thread.
class ControlView {
 public:
  void open(const std::string& folder);
  [[nodiscard]] activity_format::Order order() const;
  void attached();
  void recording(bool on);
  void ended();
  void launches(std::uint64_t more, std::int64_t last_start_ns);

 private:
  activity_format::ControlBlock* block_ = nullptr;  // stays mapped as long as the process lives
};

}  // namespace carpool::gpu::inject
