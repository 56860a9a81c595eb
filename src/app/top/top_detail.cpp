#include "app/top/top_detail.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "app/output/text_table.hpp"
#include "serve/units.hpp"

namespace carpool::app {
namespace {

constexpr std::size_t kTallest = 8;
constexpr std::size_t kTextRows = 15;  // everything but the graphs, and of two graphs the titles

Line fact(const char* name, const std::string& value) {
  return {{fmt::format("  {:<9}", name), Tone::Faint}, {value.empty() ? "-" : value}};
}

std::string job_fact(const GpuJob& job) {
  return fmt::format(
      "{} {}, {}, {} for {}",
      job.id,
      job.name.empty() ? "(of another user)" : job.name,
      job.mechanism == "none" || job.mechanism.empty() ? "not shared" : job.mechanism,
      job.paused ? "paused; ran" : "runs",
      serve::show_seconds(job.run_s));
}

void add_graph(std::vector<Line>& lines,
               const std::string& title,
               std::span<const double> values,
               std::size_t columns,
               std::size_t rows,
               const Glyphs& glyphs) {
  constexpr std::size_t kMargin = 4;
  lines.push_back({{title, Tone::Strong}});
  const std::size_t width = columns > kMargin ? columns - kMargin : 1;
  for (const std::string& line : graph(values, width, rows, glyphs)) {
    lines.push_back({{"  " + line, Tone::Busy}});
  }
}

std::string sm_fact(const TopProcess& row) {
  return row.entry.sm_active
             ? fmt::format("{:.0f} % of the time of the SMs", *row.entry.sm_active * 100.0)
             : "- (the driver does not tell it by process)";
}

// Memory and SM activity of the row, and of the GPU at this place.
void add_graphs(std::vector<Line>& lines,
                const TopModel& model,
                std::size_t gpu,
                std::size_t columns,
                std::size_t rows,
                const Glyphs& glyphs) {
  const TopRowHistory& history = model.rows.at(*model.detail);
  const bool sm_known = !history.sm_active.empty();
  const bool of_process = std::get<1>(*model.detail) != 0;
  const char* sm_title = of_process ? "SM activity of the process" : "SM activity of the job";
  const std::size_t graphs = sm_known ? 3 : 2;
  const std::size_t text = kTextRows + (sm_known ? 2 : 0);
  const std::size_t tall =
      std::clamp<std::size_t>(rows > text ? (rows - text) / graphs : 1, 1, kTallest);
  add_graph(lines, "Memory, share of the GPU", history.memory, columns, tall, glyphs);
  lines.push_back({});
  if (sm_known) {
    add_graph(lines, sm_title, history.sm_active, columns, tall, glyphs);
    lines.push_back({});
  }
  add_graph(lines,
            how_busy(model.gpus[gpu]).fine ? "SM activity of the GPU" : "Utilisation of the GPU",
            model.history[gpu],
            columns,
            tall,
            glyphs);
}

}  // namespace

std::vector<Line> detail_lines(const TopModel& model,
                               std::size_t columns,
                               std::size_t rows,
                               const Glyphs& glyphs) {
  std::vector<Line> lines;
  for (std::size_t i = 0; i < model.gpus.size(); ++i) {
    for (const TopProcess& row : rows_of(model.gpus[i])) {
      if (key_of(row) != model.detail) {
        continue;
      }
      const GpuInfo& info = model.gpus[i].info;
      const GpuProcess& process = row.entry.process;
      lines.push_back(fact("pid", process.pid == 0 ? "" : std::to_string(process.pid)));
      lines.push_back(fact("user", row.entry.name.user));
      lines.push_back(fact("command", row.entry.name.command));
      lines.push_back(fact("GPU", fmt::format("{} {}", info.index, info.name)));
      lines.push_back(fact("job", row.job ? job_fact(*row.job) : ""));
      std::string memory = process.memory_bytes ? gib_number(*process.memory_bytes) : "-";
      memory += fmt::format(" of {} GiB", gib_number(info.memory_bytes));
      if (row.job) {
        memory += fmt::format(", {} GiB reserved for the job", gib_number(row.job->reserved_bytes));
      }
      lines.push_back(fact("memory", memory));
      lines.push_back(fact("SM", sm_fact(row)));
      lines.push_back({});
      add_graphs(lines, model, i, columns, rows, glyphs);
    }
  }
  lines.push_back({});
  lines.push_back({{"  Enter or Escape: back", Tone::Faint}});
  return lines;
}

}  // namespace carpool::app
