#include "app/doctor/doctor_output.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/text/printable.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

std::string_view state_name(CheckState state) {
  switch (state) {
    case CheckState::Ok:
      return "ok";
    case CheckState::Degraded:
      return "degraded";
    case CheckState::Missing:
      break;
  }
  return "missing";
}

std::string_view state_colour(CheckState state) {
  switch (state) {
    case CheckState::Ok:
      return "\033[32m";
    case CheckState::Degraded:
      return "\033[33m";
    case CheckState::Missing:
      break;
  }
  return "\033[31m";
}

}  // namespace

std::string doctor_verdict(const DoctorFacts& facts, const std::vector<DoctorCheck>& checks) {
  if (can_share(checks)) {
    return "Jobs can share the GPUs of this machine.";
  }
  if (facts.gpus.empty() && facts.pci_gpus == 0) {
    return "This machine has no NVIDIA GPU to share. Commands that need only measurements work "
           "here: `carpool demo`, predict, recommend, assign and evaluate. `carpool top --replay "
           "FILE` shows a GPU that was recorded elsewhere.";
  }
  std::vector<std::string> names;
  for (const DoctorCheck& check : checks) {
    if (check.needed && check.state == CheckState::Missing) {
      names.push_back(check.name);
    }
  }
  return fmt::format("Jobs cannot share the GPUs of this machine: fix {} first.",
                     fmt::join(names, ", "));
}

std::string render_checks(const std::vector<DoctorCheck>& checks, bool colour) {
  constexpr std::size_t kStateWidth = 8;
  std::size_t name_width = 0;
  for (const DoctorCheck& check : checks) {
    name_width = std::max(name_width, check.name.size());
  }
  std::string text;
  for (const DoctorCheck& check : checks) {
    const std::string state = fmt::format("{:<{}}", state_name(check.state), kStateWidth);
    text +=
        fmt::format("{}  {:<{}}  {}\n",
                    colour ? fmt::format("{}{}\033[0m", state_colour(check.state), state) : state,
                    check.name,
                    name_width,
                    printable(check.found));
    if (!check.advice.empty()) {
      text +=
          fmt::format("{:{}}{}\n", "", kStateWidth + 2 + name_width + 2, printable(check.advice));
    }
  }
  return text;
}

json checks_to_json(const std::vector<DoctorCheck>& checks) {
  json out = json::array();
  for (const DoctorCheck& check : checks) {
    out.push_back({{"name", check.name},
                   {"state", state_name(check.state)},
                   {"found", check.found},
                   {"advice", check.advice},
                   {"needed", check.needed}});
  }
  return out;
}

}  // namespace carpool::app
