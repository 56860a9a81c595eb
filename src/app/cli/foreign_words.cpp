#include "app/cli/foreign_words.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace carpool::app {
namespace {

struct ForeignWord {
  std::string_view word;
  std::string_view hint;
};

constexpr std::array kForeignCommands = {
    ForeignWord{"sbatch", "`carpool submit`"},
    ForeignWord{"gbatch", "`carpool submit`"},
    ForeignWord{"srun", "`carpool run`"},
    ForeignWord{"salloc", "`carpool run --pty bash`"},
    ForeignWord{"squeue", "`carpool queue`"},
    ForeignWord{"gqueue", "`carpool queue`"},
    ForeignWord{"ps", "`carpool queue`"},
    ForeignWord{"list", "`carpool queue`"},
    ForeignWord{"scancel", "`carpool cancel`"},
    ForeignWord{"gcancel", "`carpool cancel`"},
    ForeignWord{"kill", "`carpool cancel`"},
    ForeignWord{"scontrol", "`carpool show`, `hold`, `release`, `requeue` or `update`"},
    ForeignWord{"gjob", "`carpool show`, `hold`, `release` or `update`"},
    ForeignWord{"ginfo", "`carpool status`"},
    ForeignWord{"sinfo", "`carpool status`"},
    ForeignWord{"info", "`carpool status`"},
    ForeignWord{"sacct", "`carpool history`, or `carpool usage`"},
    ForeignWord{"sreport", "`carpool usage`"},
    ForeignWord{"gstats", "`carpool usage`"},
    ForeignWord{"sstat", "`carpool show`, or `carpool top`"},
    ForeignWord{"sattach", "`carpool logs -f`"},
    ForeignWord{"nvtop", "`carpool top`"},
    ForeignWord{"gflowd", "`carpool serve`"},
};

constexpr std::array kForeignJobOptions = {
    ForeignWord{"-J", "--name NAME"},
    ForeignWord{"--job-name", "--name NAME"},
    ForeignWord{"-t", "--time 2h"},
    ForeignWord{"-o", "--output FILE"},
    ForeignWord{"-e", "--error FILE"},
    ForeignWord{"-a", "--array 0-99%4"},
    ForeignWord{"--max-concurrent", "--array 0-99%4 for at most 4 at once"},
    ForeignWord{"-D", "--chdir FOLDER"},
    ForeignWord{"-d", "--after JOB, --after-any JOB or --after-not-ok JOB"},
    ForeignWord{"--dependency", "--after JOB, --after-any JOB or --after-not-ok JOB"},
    ForeignWord{"--depends-on", "--after JOB"},
    ForeignWord{"--depends-on-all", "--after JOB,JOB"},
    ForeignWord{"-G", "--gpus N"},
    ForeignWord{"-g", "--gpus N"},
    ForeignWord{"--gres", "--gpus N, and --gpu-type H200 for a kind of GPU"},
    ForeignWord{"--gpus-per-node", "--gpus N"},
    ForeignWord{"--gpus-per-task", "--gpus N"},
    ForeignWord{"--gpu-memory", "--mem 20G"},
    ForeignWord{"--memory", "--mem 20G"},
    ForeignWord{"--mem-per-gpu", "--mem 20G"},
    ForeignWord{"--shared", "nothing: jobs share a GPU unless they say --exclusive"},
    ForeignWord{"-H", "--hold"},
    ForeignWord{"-W", "--wait"},
    ForeignWord{"-b", "--begin 22:00"},
    ForeignWord{"-w", "--gpu 0,1"},
    ForeignWord{"--nodelist", "--gpu 0,1"},
    ForeignWord{"--nice", "--priority -10"},
    ForeignWord{"--test-only", "--dry-run"},
    ForeignWord{"--wrap", "-- sh -c 'COMMAND'"},
    ForeignWord{"--export", "--env NAME=VALUE"},
    ForeignWord{"--mail-type", "--notify 'COMMAND', which runs when the job has ended"},
    ForeignWord{"--mail-user", "--notify 'COMMAND', which runs when the job has ended"},
    ForeignWord{"--requeue", "--retries N"},
    ForeignWord{"--param-file", "--param NAME=VALUE,VALUE"},
    ForeignWord{"--conda-env", "-- conda run -n ENVIRONMENT COMMAND"},
    ForeignWord{"-p", "nothing: the server has one queue"},
    ForeignWord{"--partition", "nothing: the server has one queue"},
    ForeignWord{"--qos", "--class or --priority"},
    ForeignWord{"-A", "nothing: there are no accounts"},
    ForeignWord{"--account", "nothing: there are no accounts"},
    ForeignWord{"-N", "nothing: a server has one machine"},
    ForeignWord{"--nodes", "nothing: a server has one machine"},
    ForeignWord{"-n", "nothing: a job is one command, which may start processes"},
    ForeignWord{"--ntasks", "nothing: a job is one command, which may start processes"},
    ForeignWord{"-c", "nothing: processors are not reserved"},
    ForeignWord{"--cpus-per-task", "nothing: processors are not reserved"},
};

constexpr std::array kForeignListOptions = {
    ForeignWord{"-u", "--user NAME"},
    ForeignWord{"-t", "--state STATE"},
    ForeignWord{"--states", "--state STATE"},
    ForeignWord{"-n", "nothing: your own jobs are shown; `carpool cancel --name GLOB` selects"},
    ForeignWord{"--me", "nothing: your own jobs are shown"},
    ForeignWord{"-r", "--expand"},
    ForeignWord{"-j", "`carpool show JOB`"},
    ForeignWord{"-o", "--json"},
    ForeignWord{"--format", "--json"},
};

constexpr std::array kForeignChoiceOptions = {
    ForeignWord{"-u", "--all-mine"},
    ForeignWord{"--user", "--all-mine"},
    ForeignWord{"--me", "--all-mine"},
    ForeignWord{"-n", "--name GLOB"},
    ForeignWord{"--jobname", "--name GLOB"},
};

std::string_view hint_in(std::span<const ForeignWord> words, std::string_view word) {
  const auto found = std::ranges::find(words, word, &ForeignWord::word);
  return found == words.end() ? std::string_view() : found->hint;
}

std::span<const ForeignWord> options_of(std::string_view command) {
  if (command == "submit" || command == "run") {
    return kForeignJobOptions;
  }
  if (command == "queue") {
    return kForeignListOptions;
  }
  constexpr std::array<std::string_view, 4> kChanging = {"cancel", "hold", "release", "requeue"};
  return std::ranges::find(kChanging, command) == kChanging.end() ? std::span<const ForeignWord>()
                                                                  : kForeignChoiceOptions;
}

}  // namespace

std::string known_command_hint(std::string_view word) {
  const std::string_view hint = hint_in(kForeignCommands, word);
  return hint.empty() ? std::string() : fmt::format("; here it is {}", hint);
}

std::string known_option_hint(std::string_view command, std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  const std::string_view hint = hint_in(options_of(command), name);
  return hint.empty() ? std::string() : fmt::format("; write {}", hint);
}

Result<void> refuse_foreign_lines(const std::string& file, std::span<const std::string> lines) {
  for (const std::string& line : lines) {
    if (!line.starts_with('#') && !line.empty()) {
      break;
    }
    for (const char* directive : {"#SBATCH", "# GFLOW", "#PBS"}) {
      if (line.starts_with(directive)) {
        return invalid_input(
            fmt::format("{0}: its {1} lines are not read; add #CARPOOL lines, or write `carpool "
                        "submit -- bash {0}` to run it without them",
                        file,
                        directive));
      }
    }
  }
  return {};
}

}  // namespace carpool::app
