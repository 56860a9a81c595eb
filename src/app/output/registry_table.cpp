#include "app/output/registry_table.hpp"

#include <nlohmann/json.hpp>

namespace carpool::app {

void list_named(std::string_view heading,
                std::span<const ListedKind> kinds,
                const Output& output,
                nlohmann::json& out) {
  TextTable table(output.colour());
  table.add_column(std::string(heading), TextTable::Align::Left);
  table.add_column("", TextTable::Align::Left);
  nlohmann::json& entries = out[std::string(heading)] = nlohmann::json::array();
  for (const ListedKind& kind : kinds) {
    table.add_row({std::string(kind.name), std::string(kind.description)});
    entries.push_back({{"name", kind.name}, {"description", kind.description}});
  }
  if (!output.json()) {
    output.print(table.render() + "\n");
  }
}

}  // namespace carpool::app
