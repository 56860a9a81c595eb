// Requests of an SLO process whose work is still on the GPU though another one has begun: services
// that launch ahead, or serve by several threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace carpool::interpose {

struct OpenRequest {
  std::uint64_t arrival_ns = 0;
  std::uint64_t began_ns = 0;  // its first sign
  std::uint64_t before = 0;    // launches up to this number are of earlier requests,
  std::uint64_t last = 0;      // up to this one its own
  std::uint64_t sign_ns = 0;   // the last one that it gave; its end, once it has ended
};

// A request has ended when the program has waited for its last launch. Of one for which the program
// waits together with later work, or never, the end is the last sign before.
class OpenRequests {
 public:
  [[nodiscard]] bool empty() const { return count_ == 0; }

  // Another request begins. ended(request) is called for those that end, here and below: for this
  // one where there is no place.
  template <class Ended>
  void add(const OpenRequest& request, const Ended& ended) {
    if (count_ == requests_.size()) {
      ended(request);
    } else {
      requests_[count_++] = request;
    }
  }

  // The arrival of the oldest; 0: there is none.
  [[nodiscard]] std::uint64_t earliest_ns() const {
    std::uint64_t earliest = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const std::uint64_t arrival = requests_[i].arrival_ns;
      earliest = earliest == 0 || arrival < earliest ? arrival : earliest;
    }
    return earliest;
  }

  // The program has waited for work up to the launch `newest`; the oldest one that is not done is
  // `oldest`.
  template <class Ended>
  void waited(std::uint64_t newest, std::uint64_t oldest, std::uint64_t now, const Ended& ended) {
    for (std::size_t i = 0; i < count_;) {
      OpenRequest& request = requests_[i];
      if (newest > request.before && newest <= request.last) {
        request.sign_ns = now;
      }
      if (newest == request.last || request.last < oldest) {
        ended(request);
        remove(i);
      } else {
        ++i;
      }
    }
  }

  // Those without a sign since then. Returns the last launch of them; 0: there are none.
  template <class Ended>
  std::uint64_t expire(std::uint64_t since, const Ended& ended) {
    std::uint64_t last = 0;
    for (std::size_t i = 0; i < count_;) {
      if (requests_[i].sign_ns >= since) {
        ++i;
        continue;
      }
      last = requests_[i].last > last ? requests_[i].last : last;
      ended(requests_[i]);
      remove(i);
    }
    return last;
  }

 private:
  void remove(std::size_t place) {
    for (std::size_t i = place + 1; i < count_; ++i) {
      requests_[i - 1] = requests_[i];
    }
    --count_;
  }

  std::array<OpenRequest, 32> requests_{};  // oldest first
  std::size_t count_ = 0;
};

}  // namespace carpool::interpose
