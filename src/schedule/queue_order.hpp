// The order of the queue.
#pragma once

#include <span>
#include <string_view>

#include "base/result.hpp"

namespace carpool::schedule {

enum class QueueOrder {
  Fifo,      // as submitted
  Shortest,  // by run time; unknown ones count as the mean
  Hrrn,      // highest (waited + run time) / run time
  Fair,      // the default: hrrn with fair shares of users, no starvation (docs/scheduling.md)
};

// Priorities are between -kMostPriority and kMostPriority.
inline constexpr int kMostPriority = 1000;

struct QueueOrderInfo {
  QueueOrder order;
  std::string_view name;
  std::string_view line;
};

[[nodiscard]] std::span<const QueueOrderInfo> queue_orders();
[[nodiscard]] Result<QueueOrder> queue_order(std::string_view name);

}  // namespace carpool::schedule
