#include "app/cli/command_table.hpp"

#include <array>

namespace carpool::app {
namespace {

#define CARPOOL_ROW(name, group, line) CommandRow{#name, CommandGroup::group, line, name##_command},
constexpr std::array kCommands = {CARPOOL_COMMANDS(CARPOOL_ROW)};
#undef CARPOOL_ROW

}  // namespace

std::string_view title_of(CommandGroup group) {
  switch (group) {
    case CommandGroup::Jobs:
      return "Jobs";
    case CommandGroup::Server:
      return "Server";
    case CommandGroup::Gpus:
      return "GPUs";
    case CommandGroup::Prediction:
      return "Prediction";
    case CommandGroup::Research:
      return "Research";
    case CommandGroup::Help:
      break;
  }
  return "Help";
}

std::span<const CommandRow> command_table() {
  return kCommands;
}

}  // namespace carpool::app
