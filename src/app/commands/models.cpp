#include <span>
#include <string_view>

#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "evaluate/plan.hpp"
#include "model/registry.hpp"
#include "model/rules.hpp"
#include "predict/objective.hpp"

namespace carpool {
namespace {

using nlohmann::json;

// Every kind of thing has a name and one line; that is all a listing needs.
template <class Kind>
void list(std::string_view heading, std::span<const Kind> kinds, const Output& output, json& out) {
  TextTable table(output.colour());
  table.add_column(std::string(heading), TextTable::Align::Left);
  table.add_column("", TextTable::Align::Left);
  json& entries = out[std::string(heading)] = json::array();
  for (const Kind& kind : kinds) {
    table.add_row({std::string(kind.name), std::string(kind.description)});
    entries.push_back({{"name", kind.name}, {"description", kind.description}});
  }
  if (!output.json()) {
    output.print(table.render() + "\n");
  }
}

}  // namespace

Result<void> run_models(const ListOptions& /*options*/, const CommandContext& context) {
  json out;
  list("models", model_kinds(), context.output, out);
  list("rules", rules(), context.output, out);
  list("objectives", objective_kinds(), context.output, out);
  list("protocols", protocol_kinds(), context.output, out);
  if (context.output.json()) {
    context.output.print_json(out);
  }
  return {};
}

}  // namespace carpool
