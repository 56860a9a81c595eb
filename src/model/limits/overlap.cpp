#include "model/limits/overlap.hpp"

#include <cmath>

namespace carpool::model {

double overlap_rate(const Group& group) {
  double total = 0.0;
  double squares = 0.0;
  for (const GroupMember& member : group) {
    const double share = gpu_share(member);
    total += share;
    squares += share * share;
  }
  const double products = (total * total - squares) / 2.0;
  if (group.size() < 2 || products <= 0.0) {
    return 0.0;
  }
  // Shares such as 0.3 + 0.7 may add up to a hair less than the whole number that they mean.
  constexpr double kRounding = 1e-9;
  const double whole = std::floor(total + kRounding);
  const double fraction = std::max(0.0, total - whole);
  return (whole * (whole - 1.0) / 2.0 + fraction * whole) / products;
}

}  // namespace carpool::model
