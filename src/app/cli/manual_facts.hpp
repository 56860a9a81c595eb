// What the manual pages say beside the options: exit statuses, environment variables and files,
// each with the commands that it belongs to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/cli/command_table.hpp"

namespace carpool::app {

struct ManualFact {
  std::string_view name;
  std::string_view text;
  // Names of commands, separated by blanks; an option: the commands that have it; empty: all.
  std::string_view commands{};
};

struct ManualFacts {
  std::vector<ManualFact> exit_statuses{};
  std::vector<ManualFact> environment{};
  std::vector<ManualFact> files{};
};

// Of the whole program.
[[nodiscard]] ManualFacts manual_facts();
[[nodiscard]] ManualFacts manual_facts_of(const CommandRow& row, const CommandSpec& command);

// "0 success, 1 failure, ...", for the help.
[[nodiscard]] std::string exit_statuses_text();

}  // namespace carpool::app
