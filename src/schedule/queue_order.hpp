// Who is looked at first.
#pragma once

#include <span>
#include <string_view>

#include "base/result.hpp"

namespace carpool::schedule {

enum class QueueOrder {
  Fifo,      // as submitted
  Shortest,  // by run time, unknown ones by the mean of what is known
  Hrrn,      // highest (waited + run time) / run time
  Fair,  // the default: hrrn between users' fair shares; nobody waits for ever (docs/scheduling.md)
};

struct QueueOrderInfo {
  QueueOrder order;
  std::string_view name;
  std::string_view line;
};

[[nodiscard]] std::span<const QueueOrderInfo> queue_orders();
[[nodiscard]] Result<QueueOrder> queue_order(std::string_view name);

}  // namespace carpool::schedule
