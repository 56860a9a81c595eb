#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/server/serve_places.hpp"
#include "store/folder_lock.hpp"
#include "store/journal_backup.hpp"
#include "store/journal_check.hpp"
#include "store/journal_repair.hpp"
#include "store/private_files.hpp"
#include "store/state_files.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

struct JournalOptions {
  std::string action;
  std::optional<std::string> file;
  std::optional<std::string> state;
  bool system = false;
};

void add_journal_options(OptionSet& options, JournalOptions& journal) {
  options.positional("action",
                     &journal.action,
                     "ACTION",
                     "check: look for damage and change nothing; repair: write a damaged journal "
                     "anew, while no server runs; backup: write a copy to FILE",
                     {.choices = {"check", "repair", "backup"}, .required = true});
  options.positional("file", &journal.file, "FILE", "Copy to write; it must not exist");
  options.option("--state", &journal.state, "DIR", "Folder of the queue (default: your own)");
  options.flag("--system",
               journal.system,
               "Take the folder of the system server, /var/lib/carpool",
               {.excludes = "--state"});
}

std::vector<std::string> problems_of(const std::filesystem::path& state,
                                     const store::JournalCheck& check) {
  std::vector<std::string> problems = check.problems;
  if (check.refusal || check.missing) {
    problems.push_back(store::unusable(state, check).message);
  }
  if (check.marker_damaged) {
    problems.push_back(fmt::format("{} is damaged; the next server writes it anew",
                                   store::marker_file(state).string()));
  }
  return problems;
}

Result<store::JournalCheck> no_journal(const std::filesystem::path& state) {
  const std::filesystem::path simulated = simulated_beside(state);
  std::error_code ignored;
  return not_found(
      std::filesystem::exists(store::journal_file(simulated), ignored)
          ? fmt::format("{} holds no journal; the one of the simulated server is in {}: name it "
                        "with --state",
                        state.string(),
                        simulated.string())
          : fmt::format("{} holds no journal; name the folder of a server with --state",
                        state.string()));
}

Result<store::JournalCheck> checked(const std::filesystem::path& state, bool in_use) {
  auto check = store::check_journal(state, store::CheckDepth::Full, in_use);
  return check && !check->exists && !check->missing && !check->marker ? no_journal(state) : check;
}

std::string healthy_text(const std::filesystem::path& state, const store::JournalCheck& check) {
  return fmt::format("The journal in {} is healthy: {} jobs, {} events.",
                     state.string(),
                     check.jobs,
                     check.events);
}

Result<void> check_action(const std::filesystem::path& state, const CommandContext& context) {
  const auto check = checked(state, store::FolderLock::is_held(state));
  if (!check) {
    return tl::unexpected(check.error());
  }
  const std::vector<std::string> problems = problems_of(state, *check);
  context.exit_code = problems.empty() ? 0 : 1;
  if (context.output.json()) {
    context.output.print_json({{"healthy", problems.empty()},
                               {"state", state.string()},
                               {"identity", check->identity},
                               {"jobs", check->jobs},
                               {"events", check->events},
                               {"problems", problems}});
  } else if (problems.empty()) {
    context.output.print(healthy_text(state, *check) + "\n");
  } else {
    std::string text = fmt::format("The journal in {} is damaged:\n", state.string());
    for (const std::string& problem : problems) {
      text += fmt::format("  {}\n", problem);
    }
    context.output.print(text);
  }
  return {};
}

json ranges_json(const std::vector<store::NumberRange>& ranges) {
  json list = json::array();
  for (const store::NumberRange& range : ranges) {
    list.push_back({range.first, range.last});
  }
  return list;
}

void print_report(const store::RepairReport& report, const Output& output) {
  if (output.json()) {
    output.print_json({{"complete", report.complete},
                       {"jobs", report.jobs},
                       {"events", report.events},
                       {"events_from_copies", report.from_copies},
                       {"lost_events", ranges_json(report.lost_events)},
                       {"lost_jobs", ranges_json(report.lost_jobs)},
                       {"incomplete_jobs", report.incomplete_jobs},
                       {"damaged_file", report.damaged_file.string()}});
    return;
  }
  std::string text = fmt::format("Saved {} events of {} jobs.\n", report.events, report.jobs);
  if (report.from_copies > 0) {
    text += fmt::format("{} of these events were found only in backups.\n", report.from_copies);
  }
  if (report.complete) {
    text += "Nothing is lost.\n";
  }
  if (!report.lost_events.empty()) {
    text += fmt::format(
        "Lost: events {}. A job that was cancelled or ended in one of them is in the queue again, "
        "or counts as running until the server finds its end.\n",
        store::ranges_text(report.lost_events));
  }
  if (!report.lost_jobs.empty()) {
    text += fmt::format("Lost: the submissions of jobs {}; these numbers are not used again.\n",
                        store::ranges_text(report.lost_jobs));
  }
  if (!report.incomplete_jobs.empty()) {
    text += fmt::format("Lost: a part of the history of jobs {}.\n",
                        fmt::join(report.incomplete_jobs, ", "));
  }
  if (!report.damaged_file.empty()) {
    text += fmt::format("The damaged file is {}.\n", report.damaged_file.string());
  }
  output.print(text);
}

Result<void> repair_action(const std::filesystem::path& state, const CommandContext& context) {
  auto secure = store::tighten_modes(state);
  const auto lock = store::FolderLock::take(state);
  if (!secure || !lock) {
    return tl::unexpected(secure ? lock.error() : secure.error());
  }
  const auto check = checked(state, /*in_use=*/false);
  if (!check) {
    return tl::unexpected(check.error());
  }
  if (check->refusal) {
    return tl::unexpected(*check->refusal);
  }
  if (check->problems.empty() && !check->missing) {
    if (context.output.json()) {
      context.output.print_json({{"complete", true}, {"jobs", check->jobs}});
    } else {
      context.output.print(healthy_text(state, *check) + " Nothing was changed.\n");
    }
    return {};
  }
  const auto report = store::repair_journal(state, *check, store::RepairMode::SaveWhatIsLeft);
  if (!report) {
    return tl::unexpected(report.error());
  }
  context.exit_code = report->complete ? 0 : 1;
  print_report(*report, context.output);
  return {};
}

Result<void> backup_action(const std::filesystem::path& state,
                           const std::optional<std::string>& file,
                           const CommandContext& context) {
  if (!file) {
    return invalid_input("backup needs the name of the FILE to write");
  }
  if (const auto check = checked(state, store::FolderLock::is_held(state)); !check) {
    return tl::unexpected(check.error());
  } else if (!problems_of(state, *check).empty()) {
    return fail(ErrorCode::Corrupt,
                fmt::format("the journal in {} is damaged, no copy was made; see `carpool journal "
                            "check`",
                            state.string()));
  }
  if (auto copied = store::back_up_to(state, *file); !copied) {
    return copied;
  }
  if (context.output.json()) {
    context.output.print_json({{"file", *file}});
  } else {
    context.output.remark(fmt::format("Wrote {}.", *file));
  }
  return {};
}

Result<void> run_journal(const JournalOptions& options, const CommandContext& context) {
  const auto state = state_folder(options.system, options.state);
  if (!state) {
    return tl::unexpected(state.error());
  }
  if (options.file && options.action != "backup") {
    return invalid_input(fmt::format("only backup takes a FILE, not {}", options.action));
  }
  if (options.action == "check") {
    return check_action(*state, context);
  }
  return options.action == "repair" ? repair_action(*state, context)
                                    : backup_action(*state, options.file, context);
}

}  // namespace

CommandSpec journal_command() {
  return make_command(
      add_journal_options,
      run_journal,
      {"carpool journal check", "carpool journal backup jobs.copy", "carpool journal repair"},
      "The exit code is 1 if the journal is damaged, or if a repair could not save everything. A "
      "repair keeps the damaged file.");
}

}  // namespace carpool::app
