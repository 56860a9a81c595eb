#include "simulate/policy_comparison.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/statistics.hpp"

namespace carpool::simulate {
namespace {

// Policies that were published with a strict queue.
bool strict_queue(const policy::PolicySettings& settings) {
  return !settings.backfill;
}

schedule::QueueOrder usual_order(const policy::PolicySettings& settings) {
  return strict_queue(settings) ? schedule::QueueOrder::Fifo : schedule::QueueOrder::Fair;
}

schedule::RecoveryRule usual_recovery(std::string_view preconditions) {
  if (preconditions == "carma") {
    return schedule::RecoveryRule::Carma;
  }
  return preconditions == "aegis" ? schedule::RecoveryRule::Aegis : schedule::RecoveryRule::Reserve;
}

// To be called with the number of jobs that a run is done with; calls on_jobs with those added.
std::function<void(std::size_t, std::size_t)> job_counter(const ComparisonSettings& settings,
                                                          const std::string& run) {
  return
      [&settings, run, told = std::size_t{0}](std::size_t jobs, std::size_t /*possible*/) mutable {
        if (settings.on_jobs) {
          settings.on_jobs(run, jobs - told);
        }
        told = jobs;
      };
}

}  // namespace

Result<ComparedPolicy> parse_compared_policy(std::string_view text,
                                             const ComparisonDefaults& defaults) {
  const std::size_t slash = text.find('/');
  const std::string_view way = text.substr(0, slash);
  const std::size_t colon = way.find(':');
  const std::string_view name = way.substr(0, colon);
  const std::size_t at = name.find('@');
  const std::string_view policy = name.substr(0, at);
  const std::string_view preconditions =
      at == std::string_view::npos ? policy : name.substr(at + 1);
  ComparedPolicy made{.text = std::string(text), .preconditions = std::string(preconditions)};
  SimulationSettings& settings = made.settings;
  settings.policy = policy;
  settings.policy_settings = policy::default_settings(preconditions);
  for (const std::string_view used : {policy, preconditions}) {
    if (const auto known = policy::make_placement_policy(used, settings.policy_settings); !known) {
      return tl::unexpected(known.error());
    }
  }
  settings.memory = defaults.memory;
  if (colon != std::string_view::npos) {
    const auto source = memory_source(way.substr(colon + 1));
    if (!source) {
      return tl::unexpected(source.error());
    }
    settings.memory = *source;
  }
  settings.order = defaults.order.value_or(usual_order(settings.policy_settings));
  if (slash != std::string_view::npos) {
    const auto order = schedule::queue_order(text.substr(slash + 1));
    if (!order) {
      return tl::unexpected(order.error());
    }
    settings.order = *order;
  }
  settings.recovery = defaults.recovery.value_or(usual_recovery(preconditions));
  settings.use_history = !strict_queue(settings.policy_settings);  // they keep no history
  settings.belief = defaults.belief;
  settings.rates = defaults.rates;
  settings.runtime_error = defaults.runtime_error;
  settings.constants = defaults.constants;
  return made;
}

Spread spread_of(const std::vector<double>& values) {
  if (values.empty()) {
    return {};
  }
  const auto [least, most] = std::ranges::minmax(values);
  return {.mean = std::accumulate(values.begin(), values.end(), 0.0) /
                  static_cast<double>(values.size()),
          .least = least,
          .most = most};
}

std::optional<Spread> ComparisonRow::of(
    const std::function<std::optional<double>(const SimulationResult&)>& value) const {
  std::vector<double> values;
  for (const SimulationResult& run : runs) {
    if (const auto figure = value(run)) {
      values.push_back(*figure);
    }
  }
  return values.empty() ? std::nullopt : std::optional(spread_of(values));
}

std::optional<double> ComparisonRow::recovery_median_s() const {
  std::vector<double> waits;
  for (const SimulationResult& run : runs) {
    waits.insert(waits.end(), run.recovery_waits_s.begin(), run.recovery_waits_s.end());
  }
  return waits.empty() ? std::nullopt : std::optional(quantile(waits, 0.5));
}

Result<std::vector<ComparisonRow>> compare_policies(
    const Trace& trace,
    const ClusterSpec& cluster,
    const InterferenceModel& truth,
    const std::vector<ComparedPolicy>& policies,
    const ComparisonSettings& settings,
    const std::function<void(const std::string&)>& progress) {
  std::vector<ComparisonRow> rows;
  for (const ComparedPolicy& policy : policies) {
    ComparisonRow row{.policy = policy};
    for (std::size_t i = 0; i < settings.runs(); ++i) {
      SimulationSettings one = policy.settings;
      one.seed = settings.seed_of(i);
      one.keep_moments = settings.keep_moments && i == 0;
      const std::string name = fmt::format("{}, {} of {}", policy.text, i + 1, settings.runs());
      const auto tell = job_counter(settings, name);
      auto result = settings.shuffles > 0
                        ? simulate(shuffled(trace, settings.order_of(i)), cluster, truth, one, tell)
                        : simulate(trace, cluster, truth, one, tell);
      if (!result) {
        return tl::unexpected(
            Error{result.error().code, fmt::format("{}: {}", policy.text, result.error().message)});
      }
      if (i > 0) {
        result->runs.clear();
      }
      if (i > 0 && !settings.keep_jobs) {
        result->jobs.clear();
      }
      row.runs.push_back(std::move(*result));
      tell(trace.jobs.size(), trace.jobs.size());
      progress(name);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace carpool::simulate
