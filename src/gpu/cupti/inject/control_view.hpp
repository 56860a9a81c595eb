// The library's side of the control file (activity_format.hpp).
#pragma once

#include <cstdint>
#include <string>

#include "gpu/cupti/activity_format.hpp"

namespace carpool::gpu::inject {

// Without a control file the order is Record. Used by one thread.
class ControlView {
 public:
  void open(const std::string& folder);
  [[nodiscard]] activity_format::Order order() const;
  void attached();
  void recording(bool on);
  void ended();
  void launches(std::uint64_t more, std::int64_t last_start_ns);

 private:
  activity_format::ControlBlock* block_ = nullptr;  // stays mapped until the process ends
};

}  // namespace carpool::gpu::inject
