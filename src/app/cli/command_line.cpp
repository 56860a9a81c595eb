#include "app/cli/command_line.hpp"

#include <algorithm>
#include <iostream>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli/command_tree.hpp"
#include "base/text/names.hpp"

namespace carpool::app {
namespace {

// `words_behind`: how many words of the command line stand behind the first "--".
CommandOptions chosen(const CLI::App& app, const ParsedOptions& options, std::size_t words_behind) {
  if (options.chosen) {
    return *options.chosen;
  }
  const std::string name = app.get_subcommands().front()->get_name();
  if (name == "evaluate") {
    return options.evaluate;
  }
  if (name == "train") {
    return options.train;
  }
  if (name == "predict") {
    return options.predict;
  }
  if (name == "recommend") {
    return options.recommend;
  }
  if (name == "assign") {
    return options.assign;
  }
  if (name == "report") {
    return options.report;
  }
  if (name == "demo") {
    return options.demo;
  }
  if (name == "dataset") {
    return options.dataset;
  }
  if (name == "gpus") {
    return options.gpus;
  }
  if (name == "doctor") {
    return options.doctor;
  }
  if (name == "top") {
    return options.top;
  }
  if (name == "record") {
    return options.record;
  }
  if (name == "measure") {
    return options.measure;
  }
  if (name == "profile") {
    return options.profile;
  }
  if (name == "profiles") {
    return options.profiles;
  }
  if (name == "estimate") {
    EstimateOptions estimate = options.estimate;
    // The library tells no word before "--" from one behind it.
    EstimateJobOptions& job = estimate.job;
    job.source.insert(job.source.end(), job.command.begin(), job.command.end());
    const std::size_t behind = std::min(words_behind, job.source.size());
    const auto first = job.source.end() - static_cast<std::ptrdiff_t>(behind);
    job.command.assign(first, job.source.end());
    job.source.erase(first, job.source.end());
    return estimate;
  }
  if (name == "estimators") {
    return EstimatorListOptions{};
  }
  if (name == "models") {
    return ListOptions{};
  }
  return ManOptions{};
}

std::vector<std::string_view> command_names(const CLI::App& app) {
  std::vector<std::string_view> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    names.push_back(command->get_name());
  }
  return names;
}

}  // namespace

std::variant<Invocation, int> parse_command_line(int argc, const char* const* argv) {
  CLI::App app;
  ParsedOptions options;
  build_command_tree(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    // Help and version are exceptions of the library too, with exit code 0.
    if (problem.get_exit_code() == 0) {
      app.exit(problem);
      if (!std::cout.flush()) {
        std::cerr << "carpool: standard output could not be written\n";
        return kExitFailure;
      }
      return kExitOk;
    }
    const std::vector<std::string> unknown = app.remaining();
    if (app.get_subcommands().empty() && !unknown.empty()) {
      std::cerr << "carpool: no command or option \"" << unknown.front() << "\""
                << suggestion(unknown.front(), command_names(app)) << "\nTry `carpool --help`.\n";
      return kExitUsage;
    }
    const std::string where =
        app.get_subcommands().empty() ? "" : " " + app.get_subcommands().front()->get_name();
    std::cerr << "carpool: " << problem.what() << "\nTry `carpool" << where << " --help`.\n";
    return kExitUsage;
  }
  const std::span<const char* const> words(argv, static_cast<std::size_t>(argc));
  const auto separator = std::ranges::find(words, std::string_view("--"));
  const auto behind = std::max<std::ptrdiff_t>(words.end() - separator - 1, 0);
  return Invocation{.global = options.global,
                    .command = chosen(app, options, static_cast<std::size_t>(behind))};
}

}  // namespace carpool::app
