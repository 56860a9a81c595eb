#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "app/kind_listing.hpp"
#include "place/policy.hpp"
#include "schedule/queue_order.hpp"
#include "schedule/recovery.hpp"

namespace carpool {
namespace {

template <class Info>
std::vector<ListedKind> listed(std::span<const Info> table) {
  std::vector<ListedKind> kinds;
  for (const Info& info : table) {
    kinds.push_back({.name = info.name, .description = info.line});
  }
  return kinds;
}

}  // namespace

Result<void> run_policies(const PolicyListOptions& /*options*/, const CommandContext& context) {
  nlohmann::json out;
  list_named("policies", listed(placement_policies()), context.output, out);
  list_named("orders", listed(queue_orders()), context.output, out);
  list_named("recovery", listed(recovery_rules()), context.output, out);
  if (context.output.json()) {
    context.output.print_json(out);
  }
  return {};
}

}  // namespace carpool
