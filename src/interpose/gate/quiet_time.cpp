#include "interpose/gate/quiet_time.hpp"

#include <algorithm>

namespace carpool::interpose::gate {
namespace {

constexpr std::uint32_t kEnoughPauses = 32;
// Some pauses are short by chance: the next request came soon after the last one.
constexpr std::uint32_t kPausesPermille = 850;
constexpr Nanoseconds kLeastQuiet = 40 * kMicrosecond;

}  // namespace

void QuietTime::paused(Nanoseconds pause) {
  if (pause >= 0 && pause < most_) {
    pauses_.add(pause);
  }
}

Nanoseconds QuietTime::value() const {
  if (pauses_.count() < kEnoughPauses) {
    return most_;
  }
  const Nanoseconds usual = pauses_.quantile(kPausesPermille);
  return std::clamp(usual + usual / 2, std::min(kLeastQuiet, most_), most_);
}

}  // namespace carpool::interpose::gate
