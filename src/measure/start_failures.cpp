#include "measure/start_failures.hpp"

#include <utility>

namespace carpool::measure {
namespace {

constexpr int kMostStarts = 2;

}  // namespace

void StartFailures::record(const Member& member, Failure failure, bool beside_others) {
  Record& record = failures_[member];
  record.count += beside_others && failure.reason == kOutOfMemory ? 0 : 1;
  record.last = std::move(failure);
}

std::optional<Failure> StartFailures::last(std::span<const Member> members) const {
  for (const Member& member : members) {
    if (const auto found = failures_.find(member); found != failures_.end()) {
      return found->second.last;
    }
  }
  return std::nullopt;
}

bool StartFailures::given_up(const Member& member) const {
  const auto found = failures_.find(member);
  return found != failures_.end() && found->second.count >= kMostStarts;
}

}  // namespace carpool::measure
