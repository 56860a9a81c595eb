#include "app/output/registry_table.hpp"

#include <nlohmann/json.hpp>

namespace carpool::app {

void list_registry(std::string_view heading,
                   std::span<const RegistryEntry> entries,
                   const Output& output,
                   nlohmann::json& out) {
  TextTable table(output.colour());
  table.add_column(std::string(heading), TextTable::Align::Left);
  table.add_column("", TextTable::Align::Left);
  const bool first = out.empty();
  nlohmann::json& list = out[std::string(heading)] = nlohmann::json::array();
  for (const RegistryEntry& entry : entries) {
    table.add_row({std::string(entry.name), std::string(entry.description)});
    list.push_back({{"name", entry.name}, {"description", entry.description}});
  }
  if (!output.json()) {
    output.print((first ? "" : "\n") + table.render());
  }
}

}  // namespace carpool::app
