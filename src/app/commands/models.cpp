#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "app/kind_listing.hpp"
#include "evaluate/plan.hpp"
#include "model/registry.hpp"
#include "model/rules.hpp"
#include "predict/objective.hpp"

namespace carpool {

Result<void> run_models(const ListOptions& /*options*/, const CommandContext& context) {
  nlohmann::json out;
  list_kinds("models", model_kinds(), context.output, out);
  list_kinds("rules", rules(), context.output, out);
  list_kinds("objectives", objective_kinds(), context.output, out);
  list_kinds("protocols", protocol_kinds(), context.output, out);
  if (context.output.json()) {
    context.output.print_json(out);
  }
  return {};
}

}  // namespace carpool
