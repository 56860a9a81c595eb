#include "evaluate/partition_tally.hpp"

#include <algorithm>

#include "base/statistics.hpp"
#include "evaluate/metrics.hpp"

namespace carpool::evaluate {
namespace {

// The empty name stands for all campaigns, and for rows without a campaign.
std::vector<std::string> headings(const std::string& campaign) {
  return campaign.empty() ? std::vector<std::string>{""} : std::vector<std::string>{"", campaign};
}

}  // namespace

void PartitionTally::add(const std::string& policy,
                         const NamedObjective& objective,
                         const std::string& campaign,
                         const std::optional<PartitionOutcome>& outcome) {
  if (!outcome) {
    return;
  }
  for (const std::string& heading : headings(campaign)) {
    Entry& entry = entries_[{heading, objective.name, policy}];
    entry.has_floor = objective.objective.floor.has_value();
    if (outcome->floor_missed) {
      ++entry.floor_missed;
    } else {
      entry.regrets.push_back(outcome->regret);
    }
  }
}

std::vector<PartitionResult> PartitionTally::results() const {
  std::vector<PartitionResult> out;
  out.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) {
    PartitionResult result;
    std::tie(result.campaign, result.objective, result.policy) = name;
    result.choices = entry.regrets.size();
    if (!entry.regrets.empty()) {
      result.regret_median = quantile(entry.regrets, 0.5);
      result.regret_mean = mean(entry.regrets).value_or(0.0);
      result.regret_p90 = quantile(entry.regrets, 0.9);
    }
    if (entry.has_floor) {
      const std::size_t all = entry.regrets.size() + entry.floor_missed;
      result.floor_missed = static_cast<double>(entry.floor_missed) / static_cast<double>(all);
    }
    out.push_back(std::move(result));
  }
  return out;
}

void SpeedErrors::add(const dataset::GroupRow& row, const GroupForecast& forecast) {
  const bool limited =
      std::any_of(row.members.begin(), row.members.end(), [](const GroupMember& member) {
        return member.thread_limit < kAllThreads;
      });
  for (const std::string& heading : headings(row.campaign)) {
    Entry& entry = entries_[heading];
    Speeds& speeds = limited ? entry.limited : entry.unlimited;
    for (std::size_t i = 0; i < row.members.size(); ++i) {
      speeds.predicted.push_back(forecast.members[i].throughput);
      speeds.measured.push_back(row.throughput[i]);
    }
  }
}

std::vector<PartitionAccuracy> SpeedErrors::results() const {
  const auto error = [](const Speeds& speeds) {
    return mean_absolute_percentage_error(speeds.predicted, speeds.measured);
  };
  std::vector<PartitionAccuracy> out;
  out.reserve(entries_.size());
  for (const auto& [campaign, entry] : entries_) {
    out.push_back({.campaign = campaign,
                   .mape_limited = error(entry.limited),
                   .mape_unlimited = error(entry.unlimited)});
  }
  return out;
}

}  // namespace carpool::evaluate
