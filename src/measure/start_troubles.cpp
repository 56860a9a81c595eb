#include "measure/start_troubles.hpp"

#include <utility>

namespace carpool::measure {
namespace {

constexpr int kMostStarts = 2;

}  // namespace

void StartTroubles::remember(const Seat& seat, Failure failure, bool in_company) {
  Trouble& trouble = troubles_[seat];
  trouble.times += in_company && failure.reason == kOutOfMemory ? 0 : 1;
  trouble.last = std::move(failure);
}

std::optional<Failure> StartTroubles::last(std::span<const Seat> seats) const {
  for (const Seat& seat : seats) {
    if (const auto found = troubles_.find(seat); found != troubles_.end()) {
      return found->second.last;
    }
  }
  return std::nullopt;
}

bool StartTroubles::hopeless(const Seat& seat) const {
  const auto found = troubles_.find(seat);
  return found != troubles_.end() && found->second.times >= kMostStarts;
}

}  // namespace carpool::measure
