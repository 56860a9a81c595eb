#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "app/output/simulate_output.hpp"
#include "app/version.hpp"
#include "base/clock.hpp"
#include "base/text/memory_size.hpp"

namespace carpool::app {
namespace {

constexpr std::size_t kPoints = 240;
constexpr double kSecondsPerHour = 3600.0;
constexpr double kPercent = 100.0;
constexpr std::size_t kMostLanes = 32;

report::BarChart bars(
    const std::vector<simulate::ComparisonRow>& rows,
    const report::Quantity& quantity,
    const std::function<std::optional<double>(const simulate::SimulationResult&)>& value) {
  report::BarChart chart{.value = quantity, .spread_name = "all runs", .kinds = {"ours", "others"}};
  for (const simulate::ComparisonRow& row : rows) {
    report::Bar bar{.label = row.policy.text,
                    .kind = row.policy.settings.policy == "carpool" ? 0U : 1U};
    if (const auto spread = row.of(value)) {
      bar.value = spread->mean;
      bar.spread = Interval{.low = spread->least, .high = spread->most};
    }
    chart.bars.push_back(std::move(bar));
  }
  return chart;
}

report::ReportSection side_by_side(const std::vector<simulate::ComparisonRow>& rows) {
  report::ReportSection section{.heading = "Comparison"};
  section.figures = {
      {.title = "Makespan",
       .caption = "From the first submission to the end of the last job. Whiskers span all runs.",
       .content = bars(rows,
                       {.name = "makespan", .unit = "s", .decimals = 0},
                       [](const simulate::SimulationResult& r) { return r.makespan_s; })},
      {.title = "Mean job completion time",
       .caption = "From submission to the end of the job.",
       .content = bars(rows,
                       {.name = "mean JCT", .unit = "s", .decimals = 0},
                       [](const simulate::SimulationResult& r) { return r.mean_jct_s; })},
      {.title = "Energy",
       .caption = "Of all GPUs over the makespan.",
       .content = bars(rows,
                       {.name = "energy", .unit = "MJ", .decimals = 1},
                       [](const simulate::SimulationResult& r) { return r.energy_mj; })},
      {.title = "Out of memory",
       .caption = "Attempts that ran out of GPU memory, by policy, preconditions and source of the "
                  "memory estimate.",
       .content = bars(rows,
                       {.name = "out of memory", .unit = "", .decimals = 1},
                       [](const simulate::SimulationResult& r) {
                         return static_cast<double>(r.out_of_memory);
                       })}};
  return section;
}

// Attempts that ran out of memory in each run; with --shuffle, runs differ in the order of jobs.
report::Figure over_orders(const std::vector<simulate::ComparisonRow>& rows) {
  report::GroupedBarChart chart{.category_name = "order",
                                .value = {.name = "out of memory", .decimals = 0}};
  for (std::size_t i = 0; i < rows.front().runs.size(); ++i) {
    chart.categories.push_back(fmt::format("order {}", i + 1));
  }
  for (const simulate::ComparisonRow& row : rows) {
    report::Series series{.name = row.policy.text,
                          .highlight = row.policy.settings.policy == "carpool"};
    for (const simulate::SimulationResult& run : row.runs) {
      series.values.push_back(static_cast<double>(run.out_of_memory));
    }
    chart.series.push_back(std::move(series));
  }
  return {.title = "Out of memory by order of the jobs",
          .caption = "The same jobs submitted in other orders.",
          .content = std::move(chart)};
}

// Means over all GPUs at equal distances in time.
struct Course {
  std::vector<double> sm_active{};
  std::vector<double> memory_gib{};
  std::vector<double> watts{};
};

Course course(const simulate::SimulationResult& run,
              unsigned gpus,
              double until_s,
              const simulate::SimulationConstants& constants) {
  Course made;
  std::vector<double> active(gpus, 0.0);
  std::vector<double> memory(gpus, 0.0);
  double all_active = 0.0;
  double all_memory = 0.0;
  std::size_t next = 0;
  for (std::size_t i = 0; i < kPoints; ++i) {
    const double at = until_s * static_cast<double>(i) / static_cast<double>(kPoints - 1);
    for (; next < run.moments.size() && run.moments[next].at_s <= at; ++next) {
      const simulate::ClusterMoment& moment = run.moments[next];
      const double gib = static_cast<double>(moment.memory_bytes) / kBytesPerGiB;
      all_active += moment.sm_active - active[moment.gpu];
      all_memory += gib - memory[moment.gpu];
      active[moment.gpu] = moment.sm_active;
      memory[moment.gpu] = gib;
    }
    const double count = static_cast<double>(gpus);
    // Sums of differences end at -1e-16, and an axis would begin at -10 %.
    const double mean_active = std::max(all_active / count, 0.0);
    made.sm_active.push_back(kPercent * mean_active);
    made.memory_gib.push_back(std::max(all_memory / count, 0.0));
    made.watts.push_back(simulate::watts(constants, mean_active));
  }
  return made;
}

report::ReportSection over_time(const PolicyComparisonFacts& facts,
                                const std::vector<simulate::ComparisonRow>& rows,
                                const simulate::SimulationConstants& constants) {
  double until = 0.0;
  for (const simulate::ComparisonRow& row : rows) {
    until = std::max(until, row.runs.front().makespan_s);
  }
  const report::Quantity hours{.name = "time", .unit = "h", .decimals = 1};
  std::array<report::LineChart, 3> charts = {
      report::LineChart{.x = hours, .y = {.name = "SM activity", .unit = "%"}},
      report::LineChart{.x = hours, .y = {.name = "memory in use", .unit = "GiB"}},
      report::LineChart{.x = hours, .y = {.name = "power", .unit = "W", .decimals = 0}}};
  for (report::LineChart& chart : charts) {
    for (std::size_t i = 0; i < kPoints; ++i) {
      chart.xs.push_back(until / kSecondsPerHour * static_cast<double>(i) /
                         static_cast<double>(kPoints - 1));
    }
  }
  for (const simulate::ComparisonRow& row : rows) {
    Course values = course(row.runs.front(), facts.gpus, until, constants);
    const bool ours = row.policy.settings.policy == "carpool";
    for (auto& [chart, series] : {std::pair(&charts[0], &values.sm_active),
                                  std::pair(&charts[1], &values.memory_gib),
                                  std::pair(&charts[2], &values.watts)}) {
      chart->series.push_back(
          {.name = row.policy.text, .values = std::move(*series), .highlight = ours});
    }
  }
  report::ReportSection section{
      .heading = "Over time",
      .paragraphs = {"Means over all GPUs, in the first run of each policy."}};
  section.figures = {
      {.title = "Utilisation", .caption = "SM activity per GPU.", .content = charts[0]},
      {.title = "Memory", .caption = "Memory in use per GPU.", .content = charts[1]},
      {.title = "Power",
       .caption = "Power per GPU, derived from SM activity.",
       .content = charts[2]}};
  return section;
}

report::Figure gantt(const PolicyComparisonFacts& facts,
                     const simulate::Trace& trace,
                     const simulate::ComparisonRow& row) {
  report::GanttChart chart{.time = {.name = "time", .unit = "h", .decimals = 1},
                           .kinds = {"light", "medium", "heavy", "out of memory"}};
  const std::size_t lanes = std::min<std::size_t>(facts.gpus, kMostLanes);
  for (std::size_t i = 0; i < lanes; ++i) {
    chart.lanes.push_back(fmt::format("GPU {}", i));
  }
  constexpr double kLight = 0.3;
  constexpr double kMedium = 0.7;
  for (const simulate::SimulatedRun& run : row.runs.front().runs) {
    const simulate::TraceJob& job = trace.jobs[run.job];
    const std::size_t size = job.sm_active < kLight ? 0 : (job.sm_active < kMedium ? 1 : 2);
    for (const unsigned gpu : run.gpus) {
      if (gpu < lanes) {
        chart.bars.push_back(
            {.lane = gpu,
             .from = run.started_s / kSecondsPerHour,
             .to = run.ended_s / kSecondsPerHour,
             .label = fmt::format("job {}, {}, attempt {}", run.job + 1, job.workload, run.attempt),
             .kind = run.end == RunEnd::OutOfMemory ? 3 : size});
      }
    }
  }
  return {
      .title = row.policy.text,
      .caption =
          "Every attempt. Colours show the solo SM activity of the job: below 30 %, below 70 %, "
          "above.",
      .content = std::move(chart)};
}

}  // namespace

report::Report policy_comparison_report(const PolicyComparisonFacts& facts,
                                        const simulate::Trace& trace,
                                        const std::vector<simulate::ComparisonRow>& rows,
                                        const simulate::SimulationConstants& constants) {
  report::Report report{
      .title = fmt::format("{} on {}", facts.trace, facts.cluster),
      .subtitle = fmt::format("{} jobs, simulated under {} policies, {} runs each",
                              facts.jobs,
                              rows.size(),
                              facts.runs)};
  report.sections.push_back(side_by_side(rows));
  if (facts.shuffled) {
    report.sections.front().figures.push_back(over_orders(rows));
  }
  report.sections.push_back(over_time(facts, rows, constants));
  // If shuffled, the jobs of the first run are not in the order of the trace.
  if (!facts.shuffled) {
    report::ReportSection schedule{.heading = "Jobs on each GPU"};
    for (const simulate::ComparisonRow& row : rows) {
      schedule.figures.push_back(gantt(facts, trace, row));
    }
    report.sections.push_back(std::move(schedule));
  }
  report.provenance = {{.name = "trace", .value = facts.trace},
                       {.name = "cluster", .value = facts.cluster},
                       {.name = "truth", .value = facts.truth},
                       {.name = "belief", .value = facts.belief},
                       {.name = "version", .value = std::string(kVersion)},
                       {.name = "date", .value = utc_timestamp()}};
  return report;
}

}  // namespace carpool::app
