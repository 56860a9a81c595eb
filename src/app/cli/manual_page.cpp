#include <string>
#include <string_view>

#include "app/cli/command_line.hpp"
#include "app/cli/command_table.hpp"
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

std::string option_entries(const OptionSet& options) {
  std::string out = entry("-h,--help", "", kHelpFlag);
  for (const Option& option : options.all()) {
    out += entry(option.name, option.positional() ? "" : option.value, option.description);
  }
  return out;
}

std::string verbatim(std::string_view lines) {
  return ".PP\n.nf\n" + roff(lines) + ".fi\n";
}

std::string command_section(const CommandRow& row) {
  const CommandSpec command = row.make();
  std::string examples = "Examples:\n";
  for (const std::string& example : command.examples) {
    examples += "  " + example + "\n";
  }
  std::string out = ".SS carpool " + roff(row.name) + "\n" + roff(row.line) + ".\n";
  out += option_entries(command.options) + verbatim(examples);
  return command.notes.empty() ? out : out + ".PP\n" + roff(command.notes) + "\n";
}

}  // namespace

std::string manual_page() {
  std::string page = ".TH CARPOOL 1 \"\" \"carpool " + std::string(kVersion) + "\"\n";
  page += ".SH NAME\ncarpool \\- lets deep\\-learning jobs share GPUs safely and fast\n";
  page += ".SH SYNOPSIS\n.B carpool\n[\\fIoptions\\fR] \\fIcommand\\fR [\\fIarguments\\fR]\n";
  page += ".SH DESCRIPTION\n" + roff(kDescription) + "\n";
  std::string_view group;
  for (const CommandRow& row : command_table()) {
    if (title_of(row.group) != group) {
      group = title_of(row.group);
      page += ".SH " + roff(group) + "\n";
    }
    page += command_section(row);
  }
  GlobalOptions global;
  OptionSet options;
  add_global_options(options, global);
  page += ".SH OPTIONS\nEvery command takes these options.\n" + option_entries(options) +
          entry("-V,--version", "", kVersionFlag);
  std::string examples;
  for (const std::string_view example : program_examples()) {
    examples += "  " + std::string(example) + "\n";
  }
  return page + ".SH EXAMPLES\n" + verbatim(examples) + ".SH EXIT CODES\n" + roff(kExitCodes) +
         ".\n";
}

}  // namespace carpool::app
