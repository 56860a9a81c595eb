#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/output/registry_table.hpp"
#include "evaluate/plan.hpp"
#include "model/registry.hpp"
#include "model/rules.hpp"
#include "predict/objective.hpp"

namespace carpool::app {
namespace {

Result<void> run_models(const CommandContext& context) {
  nlohmann::json out;
  list_registry("models", model::model_kinds(), context.output, out);
  list_registry("rules", model::rules(), context.output, out);
  list_registry("objectives", predict::objective_kinds(), context.output, out);
  list_registry("protocols", evaluate::protocol_kinds(), context.output, out);
  if (context.output.json()) {
    context.output.print_json(out);
  }
  return {};
}

}  // namespace

CommandSpec models_command() {
  return make_command(run_models, {"carpool models --json"});
}

}  // namespace carpool::app
