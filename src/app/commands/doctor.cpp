#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/doctor/doctor_checks.hpp"
#include "app/doctor/doctor_facts.hpp"
#include "app/doctor/doctor_output.hpp"

namespace carpool::app {
namespace {

struct DoctorOptions {
  bool python = false;
};

void add_doctor_options(OptionSet& options, DoctorOptions& doctor) {
  options.flag("--python", doctor.python, "Also look for PyTorch, which takes seconds");
}

Result<void> run_doctor(const DoctorOptions& options, const CommandContext& context) {
  const Output& output = context.output;
  const DoctorFacts facts = gather_doctor_facts(options.python);
  const std::vector<DoctorCheck> checks = doctor_checks(facts);
  const std::string verdict = doctor_verdict(facts, checks);
  const bool works = can_share(checks);
  if (output.json()) {
    output.print_json(
        {{"can_share", works}, {"verdict", verdict}, {"checks", checks_to_json(checks)}});
  } else {
    output.print(render_checks(checks, output.colour()));
  }
  if (works) {
    output.remark(fmt::format("\n{}", verdict));
    return {};
  }
  if (auto written = output.flush(); !written) {
    return written;
  }
  return fail(ErrorCode::Unsupported, verdict);
}

}  // namespace

CommandSpec doctor_command() {
  return make_command(add_doctor_options,
                      run_doctor,
                      {"carpool doctor", "carpool doctor --json"},
                      "Exit code 1 if something that sharing needs is missing.");
}

}  // namespace carpool::app
