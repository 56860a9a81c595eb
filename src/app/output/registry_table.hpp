// Lists a registry (models, rules, policies, …): every entry has a name and a one-line description.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/output.hpp"

namespace carpool::app {

struct RegistryEntry {
  std::string_view name;
  std::string_view description;
};

// Adds the entries to `out` under the heading, and prints them as a table unless the output is
// JSON.
void list_registry(std::string_view heading,
                   std::span<const RegistryEntry> entries,
                   const Output& output,
                   nlohmann::json& out);

// The same for a registry whose entries hold more than name and description.
template <class Info>
void list_registry(std::string_view heading,
                   std::span<const Info> registry,
                   const Output& output,
                   nlohmann::json& out) {
  std::vector<RegistryEntry> entries;
  for (const Info& info : registry) {
    entries.push_back({.name = info.name, .description = info.description});
  }
  list_registry(heading, entries, output, out);
}

}  // namespace carpool::app
