// On which GPUs the next decision may pause and resume jobs: where something changed, where time
// has come, and of the others a few in rotation, since beliefs of a group may follow from what
// another one taught.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace carpool::schedule {

class TurnLooks {
 public:
  // Of a machine with at most this many GPUs all are looked at in every decision.
  static constexpr std::size_t kInRotation = 16;

  explicit TurnLooks(std::size_t gpus) : due_(gpus, false), again_s_(gpus) {}

  void changed(std::span<const std::size_t> places);
  // Places in ascending order; what was asked about them is forgotten.
  [[nodiscard]] std::span<const std::size_t> take(double now_s);
  void ask_again(std::size_t place, double at_s);
  // There is no group any more.
  void forget_times();
  [[nodiscard]] std::optional<double> next_s() const {
    return times_.empty() ? std::nullopt : std::optional(times_.begin()->first);
  }

 private:
  void add(std::size_t place);
  void forget(std::size_t place);

  std::vector<bool> due_;
  std::vector<std::size_t> places_;  // that are due
  std::vector<std::size_t> taken_;
  std::vector<std::optional<double>> again_s_;
  std::set<std::pair<double, std::size_t>> times_;  // of again_s_
  std::size_t next_ = 0;                            // in rotation
};

}  // namespace carpool::schedule
