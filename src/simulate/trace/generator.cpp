#include "simulate/trace/generator.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <vector>

#include <fmt/format.h>

#include "simulate/draws.hpp"

namespace carpool::simulate {
namespace {

constexpr double kDay = 86400.0;
constexpr std::size_t kMostJobs = 10'000'000;
constexpr double kMostDays = 3650.0;
// Submissions at the busiest hour exceed the mean by this share, and fall below it by as much at
// night.
constexpr double kDiurnal = 0.6;
constexpr double kBusiestHour = 15.0 / 24.0;
constexpr double kWeekend = 0.6;  // of a working day
// Run times: log-normal, most of minutes, some of days.
constexpr double kMedianRun = 900.0;
constexpr double kRunSpread = 1.6;
constexpr double kShortestRun = 60.0;
constexpr double kLongestRun = 5.0 * kDay;

// Turns of the draws.
constexpr std::uint64_t kArrival = 0;
constexpr std::uint64_t kWorkload = 1;
constexpr std::uint64_t kRunTime = 2;

double rate(double at_s) {
  const double day = at_s / kDay;
  const bool weekend = static_cast<long>(day) % 7 >= 5;
  const double wave = 1.0 + kDiurnal * std::cos(2.0 * std::numbers::pi * (day - kBusiestHour));
  return wave * (weekend ? kWeekend : 1.0);
}

// The time by which a share of all submissions has arrived: the rate integrated in steps of a
// minute.
class Arrivals {
 public:
  explicit Arrivals(double length_s) {
    constexpr double kStep = 60.0;
    step_s_ = std::min(kStep, length_s);
    sums_.push_back(0.0);
    for (double at = 0.0; at < length_s; at += step_s_) {
      sums_.push_back(sums_.back() + rate(at));
    }
  }
  [[nodiscard]] double at(double share) const {
    const double target = share * sums_.back();
    const auto next = std::ranges::upper_bound(sums_, target);
    const auto above = std::max<std::ptrdiff_t>(next - sums_.begin(), 1);
    const auto index = std::min(static_cast<std::size_t>(above), sums_.size() - 1);
    const double within = (target - sums_[index - 1]) / (sums_[index] - sums_[index - 1]);
    return step_s_ * (static_cast<double>(index - 1) + within);
  }

 private:
  double step_s_ = 0.0;
  std::vector<double> sums_;
};

// The workloads of AEGIS's trace, each once.
Result<std::vector<TraceJob>> read_workloads(const std::filesystem::path& folder) {
  auto trace = read_trace(folder / "aegis_philly60.csv");
  if (!trace) {
    return tl::unexpected(trace.error());
  }
  std::map<std::string, TraceJob> by_name;
  for (TraceJob& job : trace->jobs) {
    by_name.insert_or_assign(job.workload, job);
  }
  std::vector<TraceJob> workloads;
  workloads.reserve(by_name.size());
  for (auto& [name, job] : by_name) {
    workloads.push_back(std::move(job));
  }
  return workloads;
}

}  // namespace

Result<Trace> generate_philly(const std::filesystem::path& folder,
                              const GeneratorSettings& settings) {
  if (settings.jobs < 1 || settings.jobs > kMostJobs) {
    return invalid_input(fmt::format("{} jobs: must be 1 to {}", settings.jobs, kMostJobs));
  }
  if (!(settings.days > 0.0 && settings.days <= kMostDays)) {
    return invalid_input(
        fmt::format("{} days: must be above 0 and at most {}", settings.days, kMostDays));
  }
  const auto known = read_workloads(folder);
  if (!known) {
    return tl::unexpected(known.error());
  }
  Trace trace{.name = fmt::format("philly-{}-{}", settings.jobs, settings.seed)};
  const Arrivals arrivals(settings.days * kDay);
  const auto kinds = static_cast<double>(known->size());
  for (std::size_t i = 0; i < settings.jobs; ++i) {
    const auto kind = static_cast<std::size_t>(draw_uniform(settings.seed, i, kWorkload) * kinds);
    TraceJob job = (*known)[std::min(kind, known->size() - 1)];
    job.submit_s = arrivals.at(draw_uniform(settings.seed, i, kArrival));
    job.solo_s =
        std::clamp(kMedianRun * std::exp(kRunSpread * draw_normal(settings.seed, i, kRunTime)),
                   kShortestRun,
                   kLongestRun);
    trace.jobs.push_back(std::move(job));
  }
  sort_by_submission(trace);
  const double first = trace.jobs.front().submit_s;
  for (TraceJob& job : trace.jobs) {
    job.submit_s -= first;
  }
  return trace;
}

}  // namespace carpool::simulate
