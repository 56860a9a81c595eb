#include "measure/worker_command.hpp"

#include <string_view>

namespace carpool::measure {
namespace {

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

}  // namespace

Command worker_command(const Plan& plan, const Member& member) {
  const PlannedWorkload& workload = plan.workloads[member.workload];
  Command command;
  command.argv = workload.command.empty() ? plan.command : workload.command;
  for (std::string& argument : command.argv) {
    replace_all(argument, "{workload}", workload.name);
  }
  return command;
}

Command streams_command(const Plan& plan, std::span<const Member> members) {
  Command command;
  for (const std::string& argument : plan.streams_command) {
    if (argument != "{workloads}") {
      command.argv.push_back(argument);
      continue;
    }
    for (const Member& member : members) {
      command.argv.push_back(plan.workloads[member.workload].name);
    }
  }
  return command;
}

}  // namespace carpool::measure
