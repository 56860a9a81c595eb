#include "app/top/top_gpus.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>

#include <fmt/format.h>

#include "app/output/gpu_table.hpp"
#include "app/output/text_table.hpp"

namespace carpool::app {
namespace {

constexpr std::size_t kTwoColumns = 80;  // two bars per line from this width on

// A bar between its name and its value.
struct Meter {
  std::string name;
  std::optional<double> share;
  std::string value;
  Tone tone = Tone::Good;
};

// How GPUs are drawn so that all fit.
struct Layout {
  bool blocks = true;  // else one line per GPU
  std::size_t graph_rows = 0;
};

Tone alarm_above(std::optional<double> share, double warning, double alarm) {
  const double value = share.value_or(0.0);
  return value >= alarm ? Tone::Alarm : value >= warning ? Tone::Warning : Tone::Good;
}

std::optional<double> share_of(std::optional<double> part, std::optional<double> whole) {
  return part && whole && *whole > 0.0 ? std::optional(*part / *whole) : std::nullopt;
}

std::string percent_value(std::optional<double> share) {
  return share ? fmt::format("{:>3.0f} %", *share * 100.0) : "  - %";
}

std::string watts(std::optional<double> value) {
  return value ? fmt::format("{:.0f}", *value) : "-";
}

std::array<Meter, 4> meters(const GpuReading& gpu) {
  const Busy busy = how_busy(gpu);
  const GpuSample sample = gpu.sample.value_or(GpuSample{});
  const auto memory = share_of(static_cast<double>(sample.memory_used_bytes),
                               static_cast<double>(gpu.info.memory_bytes));
  const auto power = share_of(sample.power_watts, gpu.info.power_limit_watts);
  const auto dram = gpu.activity ? gpu.activity->dram_active : std::nullopt;
  const bool coarse_dram = gpu.activity && is_substituted(*gpu.activity, "dram_active");
  return {
      Meter{busy.fine ? "SM" : "util", busy.share, percent_value(busy.share), Tone::Busy},
      Meter{"memory",
            memory,
            fmt::format("{} / {} GiB",
                        gpu.sample ? gib_number(sample.memory_used_bytes) : "-",
                        gib_number(gpu.info.memory_bytes)),
            alarm_above(memory, 0.8, 0.95)},
      Meter{coarse_dram ? "DRAM*" : "DRAM", dram, percent_value(dram), Tone::Busy},
      Meter{"power",
            power,
            fmt::format("{} / {} W", watts(sample.power_watts), watts(gpu.info.power_limit_watts)),
            alarm_above(power, 0.9, 1.01)}};
}

Line meter_line(const Meter& meter, std::size_t width, std::size_t value_width, const Glyphs& g) {
  constexpr std::size_t kNameWidth = 7;
  const std::size_t around = 2 + kNameWidth + 1 + value_width;
  Line line{{fmt::format("  {:<{}}", meter.name, kNameWidth)}};
  append(line, bar(meter.share, width > around + 1 ? width - around : 1, meter.tone, g));
  line.push_back({fmt::format(" {:<{}}", meter.value, value_width)});
  return fitted(line, width);
}

Line title_line(const GpuReading& gpu, const Glyphs& glyphs) {
  Line line{{fmt::format("GPU {}  {}", gpu.info.index, gpu.info.name), Tone::Strong}};
  if (!gpu.sample) {
    line.push_back({fmt::format("  {}", gpu.problem), Tone::Alarm});
    return line;
  }
  const GpuSample& sample = *gpu.sample;
  if (sample.sm_clock_mhz) {
    line.push_back({fmt::format("   {:.0f} MHz", *sample.sm_clock_mhz)});
  }
  if (sample.temperature_celsius) {
    line.push_back({fmt::format("   {:.0f} {}", *sample.temperature_celsius, glyphs.degrees)});
  }
  if (!sample.throttle_reasons.empty()) {
    line.push_back({fmt::format("   throttled: {}", throttle_words(sample)), Tone::Warning});
  }
  if (gpu.info.mig_enabled) {
    line.push_back({fmt::format("   {} MIG instances", gpu.info.mig.size())});
  }
  return line;
}

void add_block(std::vector<Line>& lines,
               const GpuReading& gpu,
               std::span<const double> history,
               std::size_t graph_rows,
               std::size_t columns,
               const Glyphs& glyphs) {
  constexpr std::size_t kShortValue = 5;
  constexpr std::size_t kLongValue = 17;
  lines.push_back(title_line(gpu, glyphs));
  const std::array<Meter, 4> all = meters(gpu);
  const bool pairs = columns >= kTwoColumns;
  const std::size_t left = pairs ? columns / 2 - 6 : columns;
  for (std::size_t i = 0; i < all.size(); i += 2) {
    Line line = meter_line(all[i], left, kShortValue, glyphs);
    const Line other = meter_line(all[i + 1], pairs ? columns - left : columns, kLongValue, glyphs);
    if (pairs) {
      append(line, other);
      lines.push_back(line);
    } else {
      lines.push_back(line);
      lines.push_back(other);
    }
  }
  const std::string label = how_busy(gpu).fine ? "SM %" : "util %";
  const std::size_t width = columns > 10 ? columns - 10 : 1;
  const std::vector<std::string> drawn = graph(history, width, graph_rows, glyphs);
  for (std::size_t row = 0; row < drawn.size(); ++row) {
    const bool last = row + 1 == drawn.size();
    const std::string name = row == 0 ? label : last ? "0" : "";
    lines.push_back({{fmt::format("  {:<7}", name), Tone::Faint}, {drawn[row], Tone::Busy}});
  }
  lines.push_back({});
}

Line compact_line(const GpuReading& gpu, const Glyphs& glyphs) {
  constexpr std::size_t kBar = 10;
  if (!gpu.sample) {
    return title_line(gpu, glyphs);
  }
  Line line{{fmt::format("{:>3} ", gpu.info.index), Tone::Strong}};
  for (const Meter& meter : meters(gpu)) {
    line.push_back({fmt::format(" {} ", meter.name)});
    append(line, bar(meter.share, kBar, meter.tone, glyphs));
    line.push_back({fmt::format(" {}", meter.value)});
  }
  return line;
}

std::size_t block_height(std::size_t graph_rows, std::size_t columns) {
  return 1 + (columns >= kTwoColumns ? 2U : 4U) + graph_rows + 1;
}

// The tallest graphs that leave room for some processes.
Layout choose_layout(std::size_t gpus, bool graphs, std::size_t room, std::size_t columns) {
  for (const std::size_t graph_rows : {4U, 2U, 1U, 0U}) {
    if ((graphs || graph_rows == 0) && gpus * block_height(graph_rows, columns) <= room) {
      return {.blocks = true, .graph_rows = graph_rows};
    }
  }
  return {.blocks = false};
}

}  // namespace

std::vector<Line> gpu_lines(const TopModel& model,
                            std::size_t columns,
                            std::size_t room,
                            const Glyphs& glyphs) {
  std::vector<Line> lines;
  const std::size_t count = model.gpus.size();
  // A graph needs two values.
  const bool graphs = count > 0 && model.history.front().size() > 1;
  const Layout layout = choose_layout(count, graphs, room, columns);
  for (std::size_t i = 0; i < count; ++i) {
    if (layout.blocks) {
      add_block(lines, model.gpus[i], model.history[i], layout.graph_rows, columns, glyphs);
    } else if (lines.size() + 1 >= room && i + 1 < count) {
      lines.push_back({{fmt::format("    {} {} more GPUs: enlarge the terminal to see them",
                                    glyphs.ellipsis,
                                    count - i),
                        Tone::Faint}});
      break;
    } else {
      lines.push_back(compact_line(model.gpus[i], glyphs));
    }
  }
  return lines;
}

}  // namespace carpool::app
