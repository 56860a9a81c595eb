#include "observe/progress_rate.hpp"

namespace carpool::observe {
namespace {

constexpr double kShortest = 4.0;  // seconds
constexpr double kFewest = 3.0;    // steps
constexpr double kFewestOfLaunches = 20.0;
constexpr double kPatience = 20.0;  // seconds, after which one step is enough

}  // namespace

void ProgressRate::restart(double now_s) {
  from_s_ = now_s;
  first_.reset();
}

std::optional<MeasuredRate> ProgressRate::add(const CountSeen& seen) {
  if (seen.at_s < from_s_) {
    return std::nullopt;
  }
  if (!first_ || seen.count < first_->count || seen.at_s < first_->at_s) {
    first_ = seen;
    return std::nullopt;
  }
  const double over_s = seen.at_s - first_->at_s;
  const double more = seen.count - first_->count;
  const double fewest = source_ == ProgressSource::Launches ? kFewestOfLaunches : kFewest;
  const bool enough = more >= fewest || (over_s >= kPatience && more > 0.0);
  if (over_s < kShortest || !enough) {
    return std::nullopt;
  }
  first_ = seen;
  return MeasuredRate{.per_s = more / over_s, .over_s = over_s, .source = source_};
}

}  // namespace carpool::observe
