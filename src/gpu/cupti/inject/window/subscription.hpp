// The library's subscription to CUPTI for the length of a window.
#pragma once

#include <cstdint>

#include "gpu/cupti/inject/vendor_library.hpp"
#include "gpu/cupti/inject/window/launch_count.hpp"

namespace carpool::gpu::inject {

// Of launches of this process, in the last window.
[[nodiscard]] LaunchCount& launch_count();

// Subscribed while it exists. Used by one thread, one at a time.
class Subscription {
 public:
  explicit Subscription(const CuptiFunctions& functions);
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;
  ~Subscription();

  [[nodiscard]] cupti::Code code() const { return code_; }
  // Counts launches, from the last begin() of the count on.
  [[nodiscard]] cupti::Code listen();

  // Lets CUPTI go: asks the next call that launches work to detach it, at its end, where NVIDIA
  // allows it. To be called until it is true, then give_up_detaching() if it never was.
  [[nodiscard]] bool detached();
  void give_up_detaching();

 private:
  [[nodiscard]] cupti::Code enable(bool on);

  const CuptiFunctions& functions_;
  cupti::Subscriber subscriber_ = nullptr;
  cupti::Code code_ = cupti::kSuccess;
};

}  // namespace carpool::gpu::inject
