#include "app/report/profile_report.hpp"

#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "app/version.hpp"
#include "base/clock.hpp"

namespace carpool::app {
namespace {

constexpr double kInPercent = 100.0;

double value_of(const profile::WorkloadProfile& profile, std::string_view metric, double scale) {
  const auto found = profile.metrics.find(metric);
  return found == profile.metrics.end() ? report::kNoValue : found->second * scale;
}

report::Figure shares(std::span<const profile::WorkloadProfile> profiles) {
  report::GroupedBarChart chart{.category_name = "workload",
                                .value = {.name = "share", .unit = "%"}};
  static constexpr std::array<std::pair<const char*, const char*>, 4> kShown = {{
      {"gpu_busy_share", "kernel running"},
      {"sm_active", "SMs active"},
      {"sm_occupancy", "warps resident"},
      {"dram_active", "DRAM active"},
  }};
  for (const auto& [metric, name] : kShown) {
    report::Series series{.name = name};
    for (const profile::WorkloadProfile& profile : profiles) {
      series.values.push_back(value_of(profile, metric, kInPercent));
    }
    chart.series.push_back(std::move(series));
  }
  for (const profile::WorkloadProfile& profile : profiles) {
    chart.categories.push_back(profile.workload);
  }
  return {.title = "GPU use of each workload",
          .caption = "Shares of the time in the window. A running kernel need not fill the GPU.",
          .content = std::move(chart)};
}

report::Figure kernel_lengths(std::span<const profile::WorkloadProfile> profiles) {
  report::BarChart chart{.value = {.name = "kernel time", .unit = "us"}};
  for (const profile::WorkloadProfile& profile : profiles) {
    chart.bars.push_back(
        {.label = profile.workload, .value = value_of(profile, "kernel_us_p50", 1.0)});
  }
  return {.title = "Duration of kernels",
          .caption = "Half of the GPU time is spent in kernels shorter than this.",
          .content = std::move(chart)};
}

report::Figure over_time(const profile::WorkloadProfile& profile) {
  report::LineChart chart{.x = {.name = "time", .unit = "s"}, .y = {.name = "share", .unit = "%"}};
  report::Series active{.name = "SMs active", .highlight = true};
  report::Series dram{.name = "DRAM active"};
  const auto shown = [](const std::optional<double>& value) {
    return value ? *value * kInPercent : report::kNoValue;
  };
  for (const profile::TelemetryPoint& point : profile.timeline) {
    chart.xs.push_back(point.seconds);
    active.values.push_back(shown(point.activity.sm_active));
    dram.values.push_back(shown(point.activity.dram_active));
  }
  chart.series = {std::move(active), std::move(dram)};
  return {.title = profile.workload,
          .caption = "Course over the measured window.",
          .content = std::move(chart)};
}

}  // namespace

report::Report profile_report(std::span<const profile::WorkloadProfile> profiles,
                              const std::string& command) {
  report::Report report{
      .title = "Profiles",
      .subtitle = fmt::format("{} workloads, each solo on a GPU", profiles.size())};
  report::ReportSection together{.heading = "Comparison"};
  together.figures = {shares(profiles), kernel_lengths(profiles)};
  report::ReportSection each{.heading = "Over time"};
  for (const profile::WorkloadProfile& profile : profiles) {
    if (!profile.timeline.empty()) {
      each.figures.push_back(over_time(profile));
    }
  }
  report.sections.push_back(std::move(together));
  if (!each.figures.empty()) {
    report.sections.push_back(std::move(each));
  }
  report.provenance = {{"GPU", profiles.front().gpu},
                       {"driver", profiles.front().driver},
                       {"command", command},
                       {"version", std::string(kVersion)},
                       {"date", utc_timestamp()}};
  return report;
}

}  // namespace carpool::app
