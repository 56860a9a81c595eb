#include "app/cli/command_line.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/command_table.hpp"
#include "app/cli/exit_code.hpp"
#include "app/cli/foreign_words.hpp"
#include "app/cli/manual_facts.hpp"
#include "app/cli/parser_words.hpp"
#include "app/version.hpp"
#include "base/text/names.hpp"

namespace carpool::app {
namespace {

constexpr std::array<std::string_view, 6> kExamples = {
    "carpool submit --mem 12G --time 2h -- python train.py",
    "carpool queue",
    "carpool explain 1",
    "carpool top",
    "carpool estimate config.json --batch 8 --fits 40G",
    "carpool recommend bert-base-cased_batch8-train"};

// Commands come before options; there are no positional arguments.
class ProgramHelp : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* /*app*/, std::string name) const override {
    return fmt::format("Usage: {} [OPTIONS] COMMAND [ARGUMENTS]\n", name);
  }
  std::string make_help(const CLI::App* app,
                        std::string name,
                        CLI::AppFormatMode mode) const override {
    return fmt::format("{}{}{}{}\n{}",
                       make_description(app),
                       make_usage(app, std::move(name)),
                       make_subcommands(app, mode),
                       make_groups(app, mode),
                       make_footer(app));
  }
};

// The library keeps options that exclude each other in the order of their addresses.
class CommandHelp : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string text = CLI::Formatter::make_option_opts(option);
    std::vector<std::string> excluded;
    for (const CLI::Option* other : option->get_excludes()) {
      excluded.push_back(other->get_name());
    }
    std::ranges::sort(excluded);
    return excluded.empty() ? text
                            : fmt::format("{} Excludes: {}",
                                          text.substr(0, text.find(" Excludes:")),
                                          fmt::join(excluded, " "));
  }
};

CLI::Option* add_to(CLI::App& app, const Option& option) {
  return std::visit(
      [&](auto* target) {
        if constexpr (std::is_same_v<decltype(target), bool*>) {
          return app.add_flag(option.name, *target, option.description);
        } else {
          return app.add_option(option.name, *target, option.description)->type_name(option.value);
        }
      },
      option.target);
}

bool is_list(const OptionTarget& target) {
  return std::holds_alternative<std::vector<std::string>*>(target) ||
         std::holds_alternative<std::vector<std::int64_t>*>(target) ||
         std::holds_alternative<std::vector<double>*>(target);
}

void apply_rules(CLI::Option& added, const Option& option) {
  const OptionRules& rules = option.rules;
  // Without this, a list takes every word up to the next option.
  if (is_list(option.target) && !option.positional()) {
    added.expected(1)->allow_extra_args(false)->multi_option_policy(
        CLI::MultiOptionPolicy::TakeAll);
  }
  if (!rules.bare_value.empty()) {
    added.expected(0, 1)->default_str(rules.bare_value);
  }
  if (rules.check) {
    added.check(rules.check);
  }
  if (const OptionCheck range = number_for(option.target)) {
    added.check(range);
  }
  if (!rules.choices.empty()) {
    added.check(one_of(rules.choices), fmt::format("{{{}}}", fmt::join(rules.choices, ",")));
  }
  if (rules.commas) {
    added.delimiter(',');
  }
  if (rules.one_word) {
    added.expected(1)->allow_extra_args(false);
  }
  added.required(rules.required);
}

void add_options(CLI::App& app, const OptionSet& set) {
  std::vector<CLI::Option*> added;
  for (const Option& option : set.all()) {
    apply_rules(*added.emplace_back(add_to(app, option)), option);
  }
  for (std::size_t i = 0; i < added.size(); ++i) {
    const OptionRules& rules = set.all()[i].rules;
    if (!rules.needs.empty()) {
      added[i]->needs(app.get_option(rules.needs));
    }
    if (!rules.excludes.empty()) {
      added[i]->excludes(app.get_option(rules.excludes));
    }
  }
}

// The program as the command-line library holds it.
struct CommandTree {
  CLI::App app{std::string(kDescription), "carpool"};
  GlobalOptions global{};
  OptionSet global_options{};
  std::vector<CommandSpec> commands{};  // as the rows of the table

  CommandTree();

  // Null without such a command.
  [[nodiscard]] CommandSpec* command_named(std::string_view name);
  // The number of words that are not of a program which the command runs: the library does not
  // tell the two apart.
  [[nodiscard]] std::size_t own_words(std::span<const char* const> words);
};

CommandTree::CommandTree() {
  app.set_help_flag("-h,--help", std::string(kHelpFlag));
  app.set_version_flag(
      "-V,--version", fmt::format("carpool {}", kVersion), std::string(kVersionFlag));
  app.formatter(std::make_shared<CommandHelp>());
  app.get_formatter()->label("Positionals", "Arguments");
  app.require_subcommand(0, 1);
  app.fallthrough();
  add_global_options(global_options, global);
  add_options(app, global_options);
  for (const CommandRow& row : command_table()) {
    const CommandSpec& command = commands.emplace_back(row.make());
    CLI::App* added = app.add_subcommand(std::string(row.name), std::string(row.line));
    added->group(std::string(title_of(row.group)));
    add_options(*added, command.options);
    added->footer(fmt::format(
        "Examples:\n  {}\n{}`carpool --help` shows the options that every command takes.",
        fmt::join(command.examples, "\n  "),
        command.notes.empty() ? "" : command.notes + "\n"));
  }
  app.formatter(std::make_shared<ProgramHelp>());  // of the program alone: commands have theirs
  app.footer(
      fmt::format("Examples:\n  {}\nExit codes: {}.\n`carpool help COMMAND` shows the options and "
                  "examples of a command.",
                  fmt::join(kExamples, "\n  "),
                  exit_statuses_text()));
}

CommandSpec* CommandTree::command_named(std::string_view name) {
  const auto row = std::ranges::find(command_table(), name, &CommandRow::name);
  return row == command_table().end()
             ? nullptr
             : &commands[static_cast<std::size_t>(row - command_table().begin())];
}

std::size_t CommandTree::own_words(std::span<const char* const> words) {
  const std::array<const OptionSet*, 1> sets = {&global_options};
  const std::size_t place = option_words(words, sets);
  const CommandSpec* command = place < words.size() ? command_named(words[place]) : nullptr;
  if (command == nullptr) {
    return words.size();
  }
  return place + 1 + command->options.own_words(words.subspan(place + 1), global_options);
}

std::vector<std::string_view> command_names() {
  std::vector<std::string_view> names;
  for (const CommandRow& row : command_table()) {
    names.push_back(row.name);
  }
  return names;
}

FinalWords complaint(const CLI::App& app, const std::string& problem) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const std::string command = chosen.empty() ? "" : " " + chosen.front()->get_name();
  return {.exit_code = kExitUsage,
          .text = fmt::format("carpool: {}\nTry `carpool{} --help`.\n", problem, command)};
}

std::string unexpected_argument(const CLI::App& command, const std::string& word) {
  const std::string known = known_option_hint(command.get_name(), word);
  const CLI::Option* misplaced = command.get_option_no_throw(word.substr(0, word.find('=')));
  if (word.starts_with('-') && misplaced != nullptr) {
    return misplaced_option(word, command.get_name(), misplaced->get_type_name());
  }
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    names.push_back(option->get_name());
  }
  return fmt::format("unexpected argument \"{}\"{}",
                     word,
                     known.empty() ? suggestion(word, {names.begin(), names.end()}) : known);
}

// The first word that is neither a command nor an option nor a value of one.
std::string unexpected_word(const CLI::App& app) {
  const std::string word = app.remaining(/*recurse=*/true).front();
  if (app.get_subcommands().empty()) {
    const std::string known = known_command_hint(word);
    return fmt::format("no command or option \"{}\"{}",
                       word,
                       known.empty() ? suggestion(word, command_names()) : known);
  }
  return unexpected_argument(*app.get_subcommands().front(), word);
}

// As the library wants them: the first one last.
std::vector<std::string> reversed(auto&& words) {
  return {words.rbegin(), words.rend()};
}

}  // namespace

void add_global_options(OptionSet& options, GlobalOptions& global) {
  options.flag("--json", global.json, "Print results as JSON on standard output");
  options.flag("-q,--quiet", global.quiet, "Print neither progress nor remarks");
  options.flag("-v,--verbose", global.verbose, "Print more on standard error");
  options.option("--color",
                 &global.colour,
                 "WHEN",
                 "Colours on standard output (default: auto)",
                 {.choices = {"auto", "always", "never"}});
  options.option("--config",
                 &global.config_file,
                 "FILE",
                 "Configuration file (default: ~/.config/carpool/config.toml, "
                 "/etc/carpool/config.toml)");
}

std::span<const std::string_view> program_examples() {
  return kExamples;
}

std::variant<Invocation, FinalWords> parse_command_line(std::span<const char* const> words) {
  CommandTree tree;
  const std::size_t own = tree.own_words(words);
  try {
    tree.app.parse(reversed(words.first(own)));
  } catch (const CLI::CallForHelp&) {
    return FinalWords{.text = tree.app.help()};
  } catch (const CLI::CallForVersion& version) {
    return FinalWords{.text = fmt::format("{}\n", version.what())};
  } catch (const CLI::ExtrasError&) {
    return complaint(tree.app, unexpected_word(tree.app));
  } catch (const CLI::ParseError& problem) {
    return complaint(tree.app, plain_problem(problem.what()));
  }
  const std::vector<CLI::App*> chosen = tree.app.get_subcommands();
  if (chosen.empty()) {
    return complaint(tree.app, "no command given");
  }
  CommandSpec& command = *tree.command_named(chosen.front()->get_name());
  command.options.put_program(words.subspan(own));
  return Invocation{.global = std::move(tree.global), .command = std::move(command)};
}

Result<void> parse_words(const std::string& command,
                         const OptionSet& options,
                         const std::vector<std::string>& words) {
  CLI::App app("", command);
  app.set_help_flag();
  add_options(app, options);
  try {
    app.parse(reversed(words));
  } catch (const CLI::ExtrasError&) {
    return invalid_input(unexpected_argument(app, app.remaining().front()));
  } catch (const CLI::ParseError& problem) {
    return invalid_input(plain_problem(problem.what()));
  }
  return {};
}

Result<void> run_words(const std::vector<std::string>& words, const CommandContext& context) {
  return find_named(command_table(), "command", words.front())
      .and_then([&](const CommandRow* row) -> Result<void> {
        const CommandSpec command = row->make();
        return parse_words(words.front(), command.options, {words.begin() + 1, words.end()})
            .and_then([&] { return command.run(context); });
      });
}

Result<std::string> help_text(std::string_view command) {
  const CommandTree tree;
  if (command.empty()) {
    return tree.app.help();
  }
  const auto names = command_names();
  if (std::ranges::find(names, command) == names.end()) {
    return invalid_input(fmt::format(
        "no command \"{}\"{}\nTry `carpool --help`.", command, suggestion(command, names)));
  }
  return tree.app.get_subcommand(std::string(command))->help("carpool");
}

}  // namespace carpool::app
