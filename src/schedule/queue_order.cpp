#include "schedule/queue_order.hpp"

#include <array>

#include "base/text/names.hpp"

namespace carpool::schedule {
namespace {

constexpr std::array<QueueOrderInfo, 4> kOrders = {{
    {.order = QueueOrder::Fair,
     .name = "fair",
     .line = "default: hrrn with fair shares of users; a job that waited too long goes first"},
    {.order = QueueOrder::Fifo, .name = "fifo", .line = "in order of submission"},
    {.order = QueueOrder::Shortest, .name = "shortest", .line = "the shortest run time first"},
    {.order = QueueOrder::Hrrn,
     .name = "hrrn",
     .line = "the highest (waited + run time) / run time first"},
}};

}  // namespace

std::span<const QueueOrderInfo> queue_orders() {
  return kOrders;
}

Result<QueueOrder> queue_order(std::string_view name) {
  return find_named(queue_orders(), "order", name).map([](const QueueOrderInfo* info) {
    return info->order;
  });
}

}  // namespace carpool::schedule
