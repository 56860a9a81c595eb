#include "model/share/turn_law.hpp"

#include <algorithm>
#include <cmath>

namespace carpool::model {
namespace {

// Keeps shares off 0 and 1, so that products of them can be divided by one of them.
constexpr double kLeastShare = 1e-6;

double share_of(double logit) {
  return std::clamp(1.0 / (1.0 + std::exp(-logit)), kLeastShare, 1.0 - kLeastShare);
}

}  // namespace

Turn turn_of(double log_length, double open_logit, double slip_logit) {
  const double length = std::exp(log_length);
  const double open = share_of(open_logit);
  return {.length = length,
          .pressing = length * (1.0 - open),
          .open = open,
          .slip = share_of(slip_logit)};
}

double progress(const Turn& own, const OtherTurns& others) {
  const double slipped = own.slip * others.open;
  return slipped + (1.0 - slipped) * own.length / (own.length + others.pressing);
}

OwnTurnSlopes own_slopes(const Turn& own, const OtherTurns& others) {
  const double slipped = own.slip * others.open;
  const double share = own.length / (own.length + others.pressing);
  const double value = slipped + (1.0 - slipped) * share;
  return {.length = (1.0 - slipped) * share * (1.0 - share) / value,
          .slip = (1.0 - share) * slipped * (1.0 - own.slip) / value};
}

OtherTurnSlopes slopes_on(const Turn& other, const Turn& own, const OtherTurns& others) {
  const double slipped = own.slip * others.open;
  const double share = own.length / (own.length + others.pressing);
  const double value = slipped + (1.0 - slipped) * share;
  const double pressed =
      (1.0 - slipped) * share * other.pressing / (own.length + others.pressing) / value;
  return {.length = -pressed,
          .open = (1.0 - share) * slipped * (1.0 - other.open) / value + pressed * other.open};
}

}  // namespace carpool::model
