// Any bytes as the order on the standard input of a supervisor: an order that is the same when
// written and read again, or an error with a message.
#include <string>
#include <string_view>

#include "run/supervisor/supervisor_order.hpp"
#include "targets.hpp"

namespace carpool::fuzz {

void feed_supervisor_order(std::string_view bytes) {
  const auto order = run::read_order(bytes);
  if (!order) {
    require(!order.error().message.empty());
    return;
  }
  require(!order->argv.empty());
  const std::string once = run::write_order(*order);
  const auto again = run::read_order(once);
  require(again.has_value() && run::write_order(*again) == once);
}

}  // namespace carpool::fuzz
