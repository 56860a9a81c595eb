#include "app/top/top_detail.hpp"

#include <algorithm>
#include <span>
#include <string>

#include <fmt/format.h>

#include "app/output/text_table.hpp"
#include "serve/units.hpp"

namespace carpool::app {
namespace {

constexpr std::size_t kTallest = 8;
constexpr std::size_t kTextRows = 14;  // everything but the graphs

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
      lines.push_back({});
      const std::size_t tall =
          std::clamp<std::size_t>(rows > kTextRows ? (rows - kTextRows) / 2 : 1, 1, kTallest);
      const auto history = model.memory.find(*model.detail);
      add_graph(lines, "Memory, share of the GPU", history->second, columns, tall, glyphs);
      lines.push_back({});
      add_graph(lines,
                how_busy(model.gpus[i]).fine ? "SM activity of the GPU" : "Utilisation of the GPU",
                model.history[i],
                columns,
                tall,
                glyphs);
    }
  }
  lines.push_back({});
  lines.push_back({{"  Enter or Escape: back", Tone::Faint}});
  return lines;
}

}  // namespace carpool::app
