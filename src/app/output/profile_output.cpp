#include "app/output/profile_output.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/output.hpp"
#include "app/output/text_table.hpp"

namespace carpool::app {
namespace {

constexpr std::size_t kShownKernels = 8;
constexpr std::size_t kNameWidth = 60;

std::optional<double> find(const profile::WorkloadProfile& profile, std::string_view metric) {
  const auto found = profile.metrics.find(metric);
  return found == profile.metrics.end() ? std::nullopt : std::optional(found->second);
}

std::string value_text(std::optional<double> value) {
  return value ? number(*value) : "-";
}

std::string throughput_text(const profile::WorkloadProfile& profile) {
  return profile.throughput
             ? fmt::format("{} {}", number(profile.throughput->value), profile.throughput->unit)
             : "-";
}

}  // namespace

nlohmann::json profile_to_json(const profile::WorkloadProfile& profile) {
  return nlohmann::json::parse(profile::profile_json(profile));
}

std::string profile_summary(const profile::WorkloadProfile& profile,
                            const profile::KernelTable& kernels) {
  std::string out = fmt::format("{}: profiled for {:.1f} s after {:.1f} s of start-up\n",
                                profile.workload,
                                profile.window_seconds,
                                profile.startup_seconds);
  if (profile.throughput) {
    const profile::StepEstimate& steps = profile.steps.front();
    out += fmt::format("  throughput  {} (by {}: {} steps of {} ms{})\n",
                       throughput_text(profile),
                       steps.source,
                       number(steps.steps),
                       number(steps.p50_seconds * 1e3),
                       steps.confidence < 1.0 ? fmt::format(", confidence {:.2f}", steps.confidence)
                                              : std::string());
  }
  if (profile.slowdown) {
    out += fmt::format("  slowdown    {:.1f} % by profiling\n", 100.0 * *profile.slowdown);
  }
  if (kernels.launches > 0) {
    out +=
        fmt::format("  kernels     {} launches/s of {} distinct kernels, busy {} % of the time\n",
                    value_text(find(profile, "launches_per_s")),
                    kernels.rows.size(),
                    percent(find(profile, "gpu_busy_share")));
  }
  out += fmt::format("  GPU         SM {} %, DRAM {} %, {} GiB, {} W\n",
                     percent(find(profile, "sm_active")),
                     percent(find(profile, "dram_active")),
                     value_text(find(profile, "memcap_gb")),
                     value_text(find(profile, "power_w")));
  return out;
}

std::string kernel_lines(const profile::KernelTable& kernels, bool colour) {
  TextTable table(colour);
  table.add_column("time [%]", TextTable::Align::Right);
  table.add_column("launches", TextTable::Align::Right);
  table.add_column("mean [us]", TextTable::Align::Right);
  table.add_column("blocks", TextTable::Align::Right);
  table.add_column("occupancy [%]", TextTable::Align::Right);
  table.add_column("kernel", TextTable::Align::Left);
  for (const profile::KernelRow& row :
       std::span(kernels.rows).first(std::min(kShownKernels, kernels.rows.size()))) {
    table.add_row({percent(row.share),
                   std::to_string(row.count),
                   number(row.seconds / static_cast<double>(row.count) * 1e6),
                   std::to_string(row.occupancy.blocks),
                   percent(row.occupancy.resident),
                   first_columns(row.name, kNameWidth)});
  }
  return table.render();
}

std::string profiles_table(std::span<const profile::WorkloadProfile> profiles, bool colour) {
  TextTable table(colour);
  table.add_column("workload", TextTable::Align::Left);
  table.add_column("throughput", TextTable::Align::Right);
  table.add_column("source", TextTable::Align::Left);
  for (const char* heading :
       {"busy [%]", "SM [%]", "DRAM [%]", "kernel [us]", "launches/s", "memory [GiB]"}) {
    table.add_column(heading, TextTable::Align::Right);
  }
  for (const profile::WorkloadProfile& profile : profiles) {
    table.add_row({profile.workload,
                   throughput_text(profile),
                   profile.throughput ? profile.throughput->source : "-",
                   percent(find(profile, "gpu_busy_share")),
                   percent(find(profile, "sm_active")),
                   percent(find(profile, "dram_active")),
                   value_text(find(profile, "kernel_us_mean")),
                   value_text(find(profile, "launches_per_s")),
                   value_text(find(profile, "memcap_gb"))});
  }
  return table.render();
}

std::string comparison_table(std::span<const profile::WorkloadProfile> profiles, bool colour) {
  TextTable table(colour);
  table.add_column("metric", TextTable::Align::Left);
  for (const profile::WorkloadProfile& profile : profiles) {
    table.add_column(profile.workload, TextTable::Align::Right);
    if (&profile != &profiles.front()) {
      table.add_column("ratio", TextTable::Align::Right);
    }
  }
  const auto add = [&](std::string_view name, auto value_of) {
    std::vector<std::string> cells{std::string(name)};
    const std::optional<double> first = value_of(profiles.front());
    bool any = false;
    for (const profile::WorkloadProfile& profile : profiles) {
      const std::optional<double> value = value_of(profile);
      any = any || value.has_value();
      cells.push_back(value_text(value));
      if (&profile != &profiles.front()) {
        const bool both = value && first && *first != 0.0;
        cells.push_back(both ? fmt::format("{:.2f}x", *value / *first) : "-");
      }
    }
    if (any) {
      table.add_row(std::move(cells));
    }
  };
  add("throughput", [](const profile::WorkloadProfile& profile) {
    return profile.throughput ? std::optional(profile.throughput->value) : std::nullopt;
  });
  for (const profile::KnownMetric& metric : profile::known_metrics()) {
    add(metric.name,
        [&](const profile::WorkloadProfile& profile) { return find(profile, metric.name); });
  }
  return table.render();
}

}  // namespace carpool::app
