// Lists a table of kinds: every kind of thing has a name and one line, and that is all it needs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/output.hpp"

namespace carpool::app {

struct ListedKind {
  std::string_view name;
  std::string_view description;
};

void list_named(std::string_view heading,
                std::span<const ListedKind> kinds,
                const Output& output,
                nlohmann::json& out);

// Prints the table, or adds it to `out` under its heading where the output is JSON.
template <class Kind>
void list_kinds(std::string_view heading,
                std::span<const Kind> kinds,
                const Output& output,
                nlohmann::json& out) {
  std::vector<ListedKind> listed;
  for (const Kind& kind : kinds) {
    listed.push_back({.name = kind.name, .description = kind.description});
  }
  list_named(heading, listed, output, out);
}

}  // namespace carpool::app
