#include "profile/reduce.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/statistics.hpp"
#include "profile/activity_metrics.hpp"

namespace carpool::profile {
namespace {

constexpr std::array<std::string_view, 4> kTrust = {
    kFromStepFile, kFromRanges, kFromOutput, kFromLaunches};

// An estimate below this confidence is reported but not used.
constexpr double kLeastConfidence = 0.3;

// The first sample after a pause covers the whole pause, with counters that have wrapped meanwhile:
// samples longer than this many usual spans are left out.
constexpr double kMostUsualSpans = 2.0;

double usual_span_ns(const gpu::ActivityTrace& trace) {
  std::vector<double> spans;
  spans.reserve(trace.counter_samples.size());
  for (const auto& sample : trace.counter_samples) {
    spans.push_back(static_cast<double>(sample.end_ns - sample.start_ns));
  }
  return spans.empty() ? 0.0 : median(std::move(spans));
}

void add_counters(std::span<const gpu::ActivityTrace> traces,
                  const TimeWindow& window,
                  WorkloadProfile& profile) {
  Metrics seconds;
  for (const gpu::ActivityTrace& trace : traces) {
    const double longest_ns = kMostUsualSpans * usual_span_ns(trace);
    for (const auto& sample : trace.counter_samples) {
      const auto span_ns = static_cast<double>(sample.end_ns - sample.start_ns);
      if (!window.holds(sample.start_ns) || span_ns > longest_ns) {
        continue;
      }
      const std::string& name = trace.counter_sets[sample.set].metrics[sample.metric];
      const double span = span_ns * 1e-9;
      profile.counters[name] += sample.value * span;
      seconds[name] += span;
    }
  }
  for (auto& [name, value] : profile.counters) {
    value = seconds[name] > 0.0 ? value / seconds[name] : 0.0;
  }
}

}  // namespace

std::vector<StepEstimate> by_trust(std::span<const StepEstimate> estimates) {
  std::vector<StepEstimate> out;
  for (const std::string_view source : kTrust) {
    std::copy_if(estimates.begin(),
                 estimates.end(),
                 std::back_inserter(out),
                 [source](const StepEstimate& estimate) { return estimate.source == source; });
  }
  return out;
}

void set_throughput(std::span<const StepEstimate> estimates, WorkloadProfile& profile) {
  profile.steps = by_trust(estimates);
  if (profile.steps.empty()) {
    profile.notes.emplace_back(
        "no throughput: the program reports no steps and its launches do not repeat");
    return;
  }
  const StepEstimate& used = profile.steps.front();
  if (used.source == kFromLaunches && used.confidence < kLeastConfidence) {
    profile.notes.push_back(
        fmt::format("no throughput: the launches of the program hardly repeat (confidence {:.2f})",
                    used.confidence));
    return;
  }
  const bool one_launch = used.source == kFromLaunches && used.launches_per_step <= 1.0;
  profile.throughput = ProfiledThroughput{.value = used.steps_per_second * used.units_per_step,
                                          .unit = one_launch                   ? "launches/s"
                                                  : used.units_per_step != 1.0 ? "units/s"
                                                                               : "steps/s",
                                          .source = used.source};
}

KernelTable add_recording(std::span<const gpu::ActivityTrace> traces,
                          const TimeWindow& window,
                          WorkloadProfile& profile) {
  KernelTable table = kernel_table(traces, window);
  profile.metrics.merge(activity_metrics(traces, table, window));
  if (profile.throughput && profile.throughput->unit != "launches/s" && table.launches > 0) {
    profile.metrics["launches_per_step"] =
        profile.metrics["launches_per_s"] / profile.steps.front().steps_per_second;
  }
  add_counters(traces, window, profile);
  for (const gpu::ActivityTrace& trace : traces) {
    for (const gpu::ActivityNote& note : trace.notes) {
      std::string text =
          note.code == 0 ? note.text : fmt::format("{} (code {})", note.text, note.code);
      if (std::find(profile.notes.begin(), profile.notes.end(), text) == profile.notes.end()) {
        profile.notes.push_back(
            std::move(text));  // child processes repeat the notes of their parents
      }
    }
    if (trace.end && trace.end->dropped > 0) {
      profile.notes.push_back(
          fmt::format("{} records of process {} were lost", trace.end->dropped, trace.start.pid));
    }
  }
  return table;
}

void add_telemetry(const TelemetryTrack& track, WorkloadProfile& profile) {
  profile.metrics.merge(track.metrics());
  profile.timeline = track.points();
  for (const std::string& substitute : track.substitute_metrics()) {
    const std::size_t colon = substitute.find(": ");
    if (colon != std::string::npos) {
      profile.substitute_metrics[substitute.substr(0, colon)] = substitute.substr(colon + 2);
    }
  }
}

}  // namespace carpool::profile
