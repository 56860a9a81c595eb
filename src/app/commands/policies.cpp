#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/output/registry_table.hpp"
#include "interpose/gate/policy.hpp"
#include "policy/policy_registry.hpp"
#include "schedule/queue_order.hpp"
#include "schedule/recovery.hpp"

namespace carpool::app {
namespace {

template <class Info>
std::vector<RegistryEntry> listed(std::span<const Info> table) {
  std::vector<RegistryEntry> kinds;
  for (const Info& info : table) {
    kinds.push_back({.name = info.name, .description = info.line});
  }
  return kinds;
}

std::vector<RegistryEntry> listed_of_the_gate() {
  std::vector<RegistryEntry> kinds;
  for (const interpose::gate::Policy& policy : interpose::gate::policies()) {
    kinds.push_back({.name = policy.name, .description = policy.summary});
  }
  return kinds;
}

Result<void> run_policies(const CommandContext& context) {
  nlohmann::json out;
  list_registry("policies", listed(policy::placement_policies()), context.output, out);
  list_registry("orders", listed(schedule::queue_orders()), context.output, out);
  list_registry("recovery", listed(schedule::recovery_rules()), context.output, out);
  list_registry("gate", listed_of_the_gate(), context.output, out);
  if (context.output.json()) {
    context.output.print_json(out);
  }
  return {};
}

}  // namespace

CommandSpec policies_command() {
  return make_command(run_policies, {"carpool policies --json"});
}

}  // namespace carpool::app
