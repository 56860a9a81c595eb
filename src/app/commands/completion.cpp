// Completion of command lines: the scripts of the shells, and the jobs that they ask for.
#include "app/cli/completion.hpp"

#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/server/server_client.hpp"
#include "base/text/printable.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

struct CompletionOptions {
  std::string what;
  ServerOptions server;
};

void add_completion_options(OptionSet& options, CompletionOptions& completion) {
  options.positional("shell",
                     &completion.what,
                     "SHELL",
                     "Shell whose script to print; or jobs, ended: your jobs, as scripts ask for "
                     "them",
                     {.choices = {"bash", "zsh", "fish", "jobs", "ended"}, .required = true});
  add_socket(options, completion.server);
}

// One job a line: number, tab, name and state.
Result<std::string> completed_jobs(const CompletionOptions& options) {
  constexpr std::size_t kMost = 100;  // a terminal cannot show more
  return ServerClient::connect(options.server).and_then([&](ServerClient server) {
    const std::string path = options.what == "ended"
                                 ? fmt::format("/v1/history?limit={}", kMost)
                                 : fmt::format("/v1/jobs?limit={}&state=active", kMost);
    return server.get(path).map([&](const json& page) {
      std::string text;
      for (const json& job : page.at("jobs")) {
        text += fmt::format("{}\t{} {}\n",
                            job.at("id").get<std::int64_t>(),
                            printable(job.value("name", "")),
                            job.value(options.what == "ended" ? "end" : "state", ""));
      }
      return text;
    });
  });
}

Result<std::string> completion_text(const CompletionOptions& options) {
  if (options.what == "bash") {
    return bash_completion(completed_commands());
  }
  if (options.what == "zsh") {
    return zsh_completion(completed_commands());
  }
  if (options.what == "fish") {
    return fish_completion(completed_commands());
  }
  return completed_jobs(options);
}

Result<void> run_completion(const CompletionOptions& options, const CommandContext& context) {
  return completion_text(options).map([&](const std::string& text) { context.output.print(text); });
}

}  // namespace

CommandSpec completion_command() {
  CommandSpec command = make_command(
      add_completion_options,
      run_completion,
      {"carpool completion bash | tee ~/.local/share/bash-completion/completions/carpool",
       "carpool completion fish | tee ~/.config/fish/completions/carpool.fish"},
      "For zsh, write the script to a file _carpool in a folder of $fpath. Packages "
      "install all of them.");
  command.reads_config = false;
  return command;
}

}  // namespace carpool::app
