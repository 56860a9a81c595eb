// When the policy is asked again after other jobs compute on a GPU: by then the learner has heard
// how the new group runs.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <set>

namespace carpool::schedule {

class GroupLooks {
 public:
  // With many GPUs groups change all the time: looks at about the same time are one.
  explicit GroupLooks(std::size_t gpus)
      : grain_s_(std::clamp(static_cast<double>(gpus) / kGpusPerSecond, 1.0, kLargestGrain)) {}

  void group_changed(double at_s) {
    for (const double after_s : kAfter) {
      due_.insert(std::ceil((at_s + after_s) / grain_s_) * grain_s_);
    }
  }
  [[nodiscard]] std::optional<double> next_s() const {
    return due_.empty() ? std::nullopt : std::optional(*due_.begin());
  }
  // Whether a look was due; it is taken.
  [[nodiscard]] bool take_due(double now_s) {
    const auto later = due_.upper_bound(now_s);
    const bool some = later != due_.begin();
    due_.erase(due_.begin(), later);
    return some;
  }

 private:
  static constexpr std::array<double, 3> kAfter = {3.0, 10.0, 20.0};
  static constexpr double kGpusPerSecond = 50.0;
  static constexpr double kLargestGrain = 10.0;

  double grain_s_;
  std::set<double> due_;
};

}  // namespace carpool::schedule
