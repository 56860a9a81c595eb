#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "app/kind_listing.hpp"
#include "estimate/registry.hpp"
#include "estimate/row_splits.hpp"

namespace carpool {

Result<void> run_estimators(const EstimatorListOptions& /*options*/,
                            const CommandContext& context) {
  nlohmann::json out;
  list_kinds("estimators", estimator_kinds(), context.output, out);
  list_kinds("splits", row_split_kinds(), context.output, out);
  if (context.output.json()) {
    context.output.print_json(out);
  }
  return {};
}

}  // namespace carpool
