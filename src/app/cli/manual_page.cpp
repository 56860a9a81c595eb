#include "app/cli/manual_page.hpp"

#include <algorithm>
#include <cctype>
#include <span>

#include <fmt/format.h>

#include "app/cli/command_line.hpp"
#include "app/cli/manual_facts.hpp"
#include "app/version.hpp"

namespace carpool::app {
namespace {

// Text that roff prints as it stands: no escapes, no requests at the start of a line.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool line_start = out.empty() || out.back() == '\n';
    if (line_start && (c == '.' || c == '\'')) {
      out += "\\&";
    }
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return out;
}

std::string entry(std::string_view name, std::string_view value, std::string_view description) {
  std::string out = ".TP\n.B " + roff(name);
  if (!value.empty()) {
    out += " \\fI" + roff(value) + "\\fR";
  }
  return out + "\n" + roff(description) + "\n";
}

std::string described(const Option& option) {
  const bool listed = option.rules.choices.empty();
  return listed ? option.description
                : fmt::format(
                      "{}; one of {}", option.description, fmt::join(option.rules.choices, ", "));
}

std::string option_entries(const OptionSet& options, bool positional) {
  std::string out;
  for (const Option& option : options.all()) {
    if (option.positional() == positional) {
      out += positional ? entry(option.value, "", described(option))
                        : entry(option.name, option.value, described(option));
    }
  }
  return out;
}

std::string verbatim(std::string_view lines) {
  return ".PP\n.nf\n" + roff(lines) + ".fi\n";
}

std::string header(std::string title, std::string_view name, std::string_view line) {
  std::ranges::transform(
      title, title.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return fmt::format(".TH {} 1 \"\" \"carpool {}\"\n.SH NAME\n{} \\- {}\n",
                     roff(title),
                     kVersion,
                     roff(name),
                     roff(line));
}

std::string examples_section(std::span<const std::string> examples) {
  return ".SH EXAMPLES\n" + verbatim(fmt::format("  {}\n", fmt::join(examples, "\n  ")));
}

std::string section(std::string_view title, std::span<const ManualFact> facts) {
  std::string out = facts.empty() ? "" : fmt::format(".SH {}\n", title);
  for (const ManualFact& fact : facts) {
    out += entry(fact.name, "", fact.text);
  }
  return out;
}

std::string fact_sections(const ManualFacts& facts) {
  return section("EXIT STATUS", facts.exit_statuses) + section("ENVIRONMENT", facts.environment) +
         section("FILES", facts.files);
}

std::string synopsis(const CommandRow& row, const OptionSet& options) {
  std::string out = fmt::format(".SH SYNOPSIS\n.B carpool {}\n[\\fIoptions\\fR]", roff(row.name));
  for (const Option& option : options.all()) {
    if (option.positional()) {
      const std::string value = "\\fI" + roff(option.value) + "\\fR";
      out += option.rules.required ? " " + value : " [" + value + "]";
    }
  }
  return out + "\n";
}

}  // namespace

std::string manual_page() {
  std::string page =
      header("carpool", "carpool", "lets deep-learning jobs share GPUs safely and fast");
  page += ".SH SYNOPSIS\n.B carpool\n[\\fIoptions\\fR] \\fIcommand\\fR [\\fIarguments\\fR]\n";
  page += ".SH DESCRIPTION\n" + roff(kDescription) +
          "\nEach command has a manual page of its own, \\fBcarpool\\-\\fIcommand\\fR(1).\n"
          ".SH COMMANDS\n";
  std::string_view group;
  for (const CommandRow& row : command_table()) {
    if (title_of(row.group) != group) {
      group = title_of(row.group);
      page += ".SS " + roff(group) + "\n";
    }
    page += entry(fmt::format("carpool-{}(1)", row.name), "", row.line);
  }
  GlobalOptions global;
  OptionSet options;
  add_global_options(options, global);
  page += ".SH OPTIONS\nEvery command takes these options.\n" + entry("-h,--help", "", kHelpFlag) +
          option_entries(options, false) + entry("-V,--version", "", kVersionFlag);
  const auto examples = program_examples();
  return page + fact_sections(manual_facts()) +
         examples_section(std::vector<std::string>(examples.begin(), examples.end()));
}

std::string manual_page_of(const CommandRow& row) {
  const CommandSpec command = row.make();
  const std::string title = fmt::format("carpool-{}", row.name);
  std::string line(row.line);
  // As whatis lists them. "GPU" and the like stay.
  if (line.size() > 1 && std::islower(static_cast<unsigned char>(line[1])) != 0) {
    line[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(line[0])));
  }
  std::string page = header(title, title, line) + synopsis(row, command.options);
  page += ".SH DESCRIPTION\n" + roff(row.line) + ".\n";
  if (!command.notes.empty()) {
    page += ".PP\n" + roff(command.notes) + "\n";
  }
  if (const std::string arguments = option_entries(command.options, true); !arguments.empty()) {
    page += ".SH ARGUMENTS\n" + arguments;
  }
  page +=
      ".SH OPTIONS\n" + entry("-h,--help", "", kHelpFlag) + option_entries(command.options, false);
  page += ".PP\nOptions that every command takes are in \\fBcarpool\\fR(1).\n";
  return page + fact_sections(manual_facts_of(row, command)) + examples_section(command.examples) +
         ".SH SEE ALSO\n\\fBcarpool\\fR(1)\n";
}

}  // namespace carpool::app
