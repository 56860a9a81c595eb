#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/output/registry_table.hpp"
#include "estimate/judge/row_splits.hpp"
#include "estimate/registry.hpp"

namespace carpool::app {
namespace {

Result<void> run_estimators(const CommandContext& context) {
  nlohmann::json out;
  list_registry("estimators", estimate::estimator_kinds(), context.output, out);
  list_registry("splits", estimate::row_split_kinds(), context.output, out);
  if (context.output.json()) {
    context.output.print_json(out);
  }
  return {};
}

}  // namespace

CommandSpec estimators_command() {
  return make_command(run_estimators, {"carpool estimators --json"});
}

}  // namespace carpool::app
