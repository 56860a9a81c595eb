// explain: why a job runs where it does, or why it waits; with --holds: why its launches waited.
#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/output.hpp"
#include "app/cli/shared_options.hpp"
#include "app/inputs/job_selection.hpp"
#include "app/launch/shim_environment.hpp"
#include "app/output/gate_text.hpp"
#include "app/output/job_text.hpp"
#include "app/server/job_action.hpp"
#include "app/server/server_client.hpp"
#include "app/server/shim/gate_tally.hpp"
#include "app/top/gpu_watch.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

struct ExplainOptions {
  ServerOptions server;
  JobSelection jobs;
  bool holds = false;
};

// A program that runs with the library, with all its processes.
struct GatedProgram {
  std::string name;
  std::map<GateTally::Key, interpose::GateReport> clients;
};

// Of this user, on all GPUs, by name.
Result<std::vector<GatedProgram>> gated_programs() {
  const auto telemetry = open_gpus();
  if (!telemetry) {
    return not_found(
        fmt::format("no program of carpool run can be found: {}", telemetry.error().message));
  }
  const auto gpus = (*telemetry)->list_gpus();
  if (!gpus) {
    return tl::unexpected(gpus.error());
  }
  std::vector<GatedProgram> programs;
  for (const GpuInfo& gpu : *gpus) {
    interpose::StateReader reader;
    interpose::StateReport report;
    if (reader.open("", gpu.uuid, ::geteuid()) != interpose::StateError::None ||
        reader.read(report) != interpose::StateError::None) {
      continue;
    }
    for (const interpose::ClientReport& client : report.clients) {
      if (client.name == kRunSlotName) {
        continue;
      }
      auto known = std::ranges::find(programs, client.name, &GatedProgram::name);
      if (known == programs.end()) {
        known = programs.insert(known, {.name = client.name, .clients = {}});
      }
      known->clients[{gpu.index, client.id.slot, client.id.generation}] = client.gate;
    }
  }
  return programs;
}

Error unknown_program(const std::string& name, const std::vector<GatedProgram>& programs) {
  std::vector<std::string> known;
  std::ranges::transform(programs, std::back_inserter(known), &GatedProgram::name);
  return not_found(fmt::format(
                       "no program of yours with the name \"{}\" runs with the library in front of "
                       "the driver; {}",
                       name,
                       known.empty()
                           ? "none does: start it with carpool run, or give the number of a job"
                           : fmt::format("these do: {}", fmt::join(known, ", "))))
      .value();
}

// Prints what is known of these programs; the others are problems.
Result<void> explain_programs(const std::vector<std::string>& names,
                              const CommandContext& context) {
  const auto programs = gated_programs();
  if (!programs) {
    return fail(
        programs.error().code,
        fmt::format(
            "\"{}\" is not the number of a job, and {}", names.front(), programs.error().message));
  }
  json answers = json::array();
  std::string text;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(*programs, name, &GatedProgram::name);
    if (found == programs->end()) {
      note_problem(unknown_program(name, *programs), context);
      continue;
    }
    GateTally tally;
    tally.look(found->clients);
    const interpose::GateReport total = tally.total();
    json gate = serve::gate_view(gate_of(total));
    text += takes_part(total)
                ? holds_text(name, gate)
                : fmt::format("{} has neither --slo nor --best-effort: its launches do not wait\n",
                              name);
    answers.push_back({{"name", name}, {"gate", std::move(gate)}});
  }
  if (context.output.json()) {
    context.output.print_json_of(answers, names.size(), answers.empty());
  } else {
    context.output.print(text);
  }
  return {};
}

Result<void> explain_jobs(const ExplainOptions& options,
                          const JobSelection& jobs,
                          const CommandContext& context) {
  const Result<JobChoice> choice = read_job_selection(jobs);
  if (!choice) {
    return tl::unexpected(choice.error());
  }
  Result<ServerClient> server = ServerClient::connect(options.server);
  if (!server) {
    return tl::unexpected(server.error());
  }
  if (!options.holds) {
    return act_on_jobs(*server, *choice, reading_action("/explain", explain_text), context);
  }
  const Result<json> status = server->get("/v1/status");
  if (!status) {
    return tl::unexpected(status.error());
  }
  const auto text = [&](const json& job) { return job_holds_text(job, *status); };
  return act_on_jobs(*server, *choice, reading_action("", text), context);
}

Result<void> run_explain(const ExplainOptions& options, const CommandContext& context) {
  JobSelection jobs = options.jobs;
  std::vector<std::string> programs;
  if (options.holds) {
    const auto names_no_job = [](const std::string& word) {
      return !parse_job_word(word).has_value();
    };
    std::ranges::copy_if(jobs.words, std::back_inserter(programs), names_no_job);
    std::erase_if(jobs.words, names_no_job);
  }
  if (programs.empty()) {
    return explain_jobs(options, jobs, context);
  }
  if (jobs.words.empty()) {
    return explain_programs(programs, context);
  }
  if (context.output.json()) {
    return invalid_input(fmt::format(
        "\"{}\" is a program and \"{}\" a job: with --json give them to one command each",
        programs.front(),
        jobs.words.front()));
  }
  return explain_jobs(options, jobs, context).and_then([&] {
    return explain_programs(programs, context);
  });
}

void add_options_of_explain(OptionSet& options, ExplainOptions& explain) {
  add_job_selection(options, explain.jobs, "that have not ended");
  options.flag("--holds",
               explain.holds,
               "Say how long launches waited for requests with an SLO, by reason, and whether the "
               "SLO was kept; also of a program of carpool run, by its name");
  add_socket(options, explain.server);
}

}  // namespace

CommandSpec explain_command() {
  return make_command(
      add_options_of_explain,
      run_explain,
      {"carpool explain 17", "carpool explain --all-mine", "carpool explain --holds 17"});
}

}  // namespace carpool::app
