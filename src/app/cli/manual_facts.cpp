#include "app/cli/manual_facts.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

namespace carpool::app {
namespace {

constexpr std::array kExitStatuses = {
    ManualFact{"0", "success"},
    ManualFact{"1", "failure"},
    ManualFact{"2", "bad usage or bad input"},
    ManualFact{"69", "no server", "--socket"},
    ManualFact{"75", "time limit of carpool wait reached", "wait"},
};
// Not in the help of the program, where they would be too long.
constexpr std::array kOtherExitStatuses = {
    ManualFact{"other",
               "exit code of the job, the highest of several; 128 + the number of the signal that "
               "ended it",
               "wait"},
    ManualFact{
        "other", "exit code of the program; 128 + the number of the signal that ended it", "run"},
};

constexpr std::array kEnvironment = {
    ManualFact{"CARPOOL_SOCKET",
               "Socket of the server; --socket goes first. Default: your own server, else that of "
               "the machine",
               "--socket"},
    ManualFact{"CARPOOL_HOST",
               "Server on another machine: https://HOST:PORT, http://127.0.0.1:PORT or "
               "ssh://[USER@]HOST[:PORT][/SOCKET]. --socket goes first, CARPOOL_SOCKET last; serve "
               "and relay ignore it",
               "--socket"},
    ManualFact{"CARPOOL_TOKEN_FILE",
               "With CARPOOL_HOST=https://: file of your token, mode 0600. Default: "
               "~/.config/carpool/token",
               "--socket"},
    ManualFact{"CARPOOL_CA_FILE",
               "With CARPOOL_HOST=https://: PEM certificates of the authorities to trust. Default: "
               "those of the system",
               "--socket"},
    ManualFact{"CARPOOL_PLAIN_HTTP",
               "1: CARPOOL_HOST=http:// may name another machine; the token crosses the network "
               "unencrypted",
               "--socket"},
    ManualFact{"CARPOOL_REMOTE_PROGRAM",
               "With CARPOOL_HOST=ssh://: the program on the other machine, as its shell reads it. "
               "Default: carpool",
               "--socket"},
    ManualFact{"CARPOOL_MPS_CONTROL",
               "MPS control program. Default: nvidia-cuda-mps-control from PATH",
               "serve run doctor"},
    ManualFact{"CARPOOL_REAL_LIBCUDA",
               "CUDA driver library to pass calls to. Default: that of the loader",
               "run"},
    ManualFact{"CARPOOL_CUPTI_LIBRARY", "CUPTI library to load. Default: searched", "profile"},
    ManualFact{"CARPOOL_JOB_ID, CARPOOL_ATTEMPT, CARPOOL_RUN_ID",
               "Set for a job: its number, the number of its attempt, and both with a dot between",
               "submit"},
    ManualFact{"CARPOOL_JOB_NAME, CARPOOL_ARRAY_INDEX",
               "Set for a job that has a name, for a job of an array",
               "submit"},
    ManualFact{"CARPOOL_GPUS, CUDA_VISIBLE_DEVICES",
               "Set for a job: indexes and UUIDs of its GPUs",
               "submit"},
    ManualFact{"CARPOOL_RUN_FOLDER", "Set for a job: folder of the attempt", "submit"},
    ManualFact{"NOTIFY_SOCKET, WATCHDOG_USEC", "Set by systemd for a service", "serve"},
    ManualFact{"HF_HOME", "Cache of Hugging Face, in which models are looked up", "estimate"},
    ManualFact{"XDG_STATE_HOME",
               "Folder below which a personal server keeps its state. Default: ~/.local/state",
               "serve journal"},
    ManualFact{"XDG_RUNTIME_DIR",
               "Folder below which the socket of a personal server is. Default: a folder of "
               "the temporary directory named by your user id",
               "--socket"},
    ManualFact{"XDG_CONFIG_HOME",
               "Folder below which the configuration is looked up. Default: ~/.config"},
    ManualFact{"NO_COLOR", "No colours, unless --color asks for them"},
};

constexpr std::array kFiles = {
    ManualFact{"~/.config/carpool/config.toml", "Configuration of the user; it goes first"},
    ManualFact{"/etc/carpool/config.toml", "Configuration of the machine"},
    ManualFact{"/run/carpool/carpool.sock", "Socket of the server of the machine", "--socket"},
    ManualFact{"$XDG_RUNTIME_DIR/carpool/carpool.sock", "Socket of a personal server", "--socket"},
    ManualFact{"/var/lib/carpool",
               "State of the server of the machine: the journal jobs.sqlite, outputs in "
               "runs/JOB.ATTEMPT",
               "serve journal"},
    ManualFact{"~/.local/state/carpool", "State of a personal server", "serve journal"},
    ManualFact{"/etc/carpool/tokens", "Digests of the tokens of users", "token"},
    ManualFact{"~/.config/carpool/token", "Your token for CARPOOL_HOST=https://", "--socket"},
    ManualFact{"/etc/default/carpool", "Options of the server of the machine", "serve"},
};

bool names_command(std::string_view commands, std::string_view name) {
  return fmt::format(" {} ", commands).find(fmt::format(" {} ", name)) != std::string::npos;
}

bool has_option(const CommandSpec& command, std::string_view name) {
  return std::ranges::any_of(command.options.all(),
                             [&](const Option& option) { return option.name == name; });
}

bool belongs_to(const ManualFact& fact, const CommandRow& row, const CommandSpec& command) {
  if (fact.commands.starts_with('-')) {
    return has_option(command, fact.commands);
  }
  return fact.commands.empty() || names_command(fact.commands, row.name);
}

}  // namespace

ManualFacts manual_facts() {
  return {.exit_statuses = {kExitStatuses.begin(), kExitStatuses.end()},
          .environment = {kEnvironment.begin(), kEnvironment.end()},
          .files = {kFiles.begin(), kFiles.end()}};
}

ManualFacts manual_facts_of(const CommandRow& row, const CommandSpec& command) {
  ManualFacts facts = manual_facts();
  facts.exit_statuses.insert(
      facts.exit_statuses.end(), kOtherExitStatuses.begin(), kOtherExitStatuses.end());
  for (std::vector<ManualFact>* list : {&facts.exit_statuses, &facts.environment, &facts.files}) {
    std::erase_if(*list, [&](const ManualFact& fact) { return !belongs_to(fact, row, command); });
  }
  return facts;
}

std::string exit_statuses_text() {
  std::string text;
  for (const ManualFact& status : kExitStatuses) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", status.name, status.text);
  }
  return text;
}

}  // namespace carpool::app
