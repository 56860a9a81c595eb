#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "app/cli/shared_options.hpp"
#include "app/inputs/sources.hpp"
#include "app/report/report_builder.hpp"
#include "base/files/file.hpp"
#include "base/progress/progress.hpp"

namespace carpool::app {
namespace {

struct ReportOptions {
  std::optional<std::string> data;
  std::string output = "carpool-report.html";
};

void add_report_options(OptionSet& options, ReportOptions& report) {
  add_data(options, report.data);
  options.option(
      "-o,--output", &report.output, "FILE", "File to write (default: carpool-report.html)");
}

Result<void> run_report(const ReportOptions& options, const CommandContext& context) {
  const auto dataset = open_dataset(options.data, context.config);
  if (!dataset) {
    return tl::unexpected(dataset.error());
  }
  Progress progress("report", kReportSteps, context.output.progress());
  const std::string command =
      options.data ? fmt::format("carpool report --data {}", *options.data) : "carpool report";
  const auto report = build_report(
      {.dataset = *dataset, .command = command, .on_progress = [&](const std::string& what) {
         progress.advance(what);
       }});
  if (!report) {
    return tl::unexpected(report.error());
  }
  const std::string page = report::render_html(*report);
  if (auto written = write_file(options.output, page); !written) {
    return written;
  }
  if (context.output.json()) {
    context.output.print_json({{"file", options.output}, {"bytes", page.size()}});
  } else {
    context.output.print(fmt::format(
        "{} written ({} kB): open it in a browser\n", options.output, page.size() / 1000));
  }
  return {};
}

}  // namespace

CommandSpec report_command() {
  return make_command(add_report_options,
                      run_report,
                      {"carpool report", "carpool report --data my-gpu -o my-gpu.html"});
}

}  // namespace carpool::app
