#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/cli/command_line.hpp"
#include "app/cli/command_tree.hpp"
#include "app/version.hpp"

namespace carpool::app {
namespace {

// Text that roff prints as it stands: no escapes, no requests at the start of a line.
std::string roff(const std::string& text) {
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

std::string option_entries(const CLI::App& app) {
  std::string out;
  for (const CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    const bool positional = option->get_positional();
    out += ".TP\n.B " + roff(option->get_name(positional, true));
    if (!type.empty() && !positional && option->get_items_expected_max() > 0) {
      out += " \\fI" + roff(type) + "\\fR";
    }
    out += "\n" + roff(option->get_description()) + "\n";
  }
  return out;
}

// The footer holds examples, one a line.
std::string examples(const CLI::App& app) {
  std::string out = ".PP\n.nf\n";
  return out + roff(app.get_footer()) + "\n.fi\n";
}

}  // namespace

std::string manual_page() {
  CLI::App app;
  ParsedOptions options;
  build_command_tree(app, options);
  std::string page = ".TH CARPOOL 1 \"\" \"carpool " + std::string(kVersion) + "\"\n";
  page += ".SH NAME\ncarpool \\- lets deep\\-learning jobs share GPUs safely and fast\n";
  page += ".SH SYNOPSIS\n.B carpool\n[\\fIoptions\\fR] \\fIcommand\\fR [\\fIoptions\\fR]\n";
  page += ".SH DESCRIPTION\n" + roff(app.get_description()) + "\n";
  page += ".SH OPTIONS\n" + option_entries(app);
  page += ".SH COMMANDS\n";
  for (const CLI::App* command : app.get_subcommands({})) {
    page += ".SS carpool " + roff(command->get_name()) + "\n";
    page += roff(command->get_description()) + ".\n";
    page += option_entries(*command) + examples(*command);
  }
  return page + ".SH EXAMPLES\n" + examples(app);
}

}  // namespace carpool::app
