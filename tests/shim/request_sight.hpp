// Whether the gate of another process would see a request of this one.
#pragma once

#include "interpose/state/layout.hpp"

namespace carpool::shim_test {

class RequestSight {
 public:
  RequestSight();
  ~RequestSight();
  RequestSight(const RequestSight&) = delete;
  RequestSight& operator=(const RequestSight&) = delete;

  [[nodiscard]] bool request_is_active() const;
  // How many declared requests, waits and callbacks are open.
  [[nodiscard]] std::uint64_t busy() const;
  [[nodiscard]] std::uint64_t waiting() const;  // threads

 private:
  const interpose::SharedState* state_ = nullptr;
  const interpose::ClientGate* words_ = nullptr;
};

}  // namespace carpool::shim_test
