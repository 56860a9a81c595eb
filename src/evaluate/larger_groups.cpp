#include "evaluate/larger_groups.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/statistics.hpp"
#include "evaluate/accuracy.hpp"
#include "evaluate/metrics.hpp"
#include "evaluate/policies.hpp"

namespace carpool::evaluate {
namespace {

// The table with the profiles of `training`, found by name.
Result<dataset::GroupTable> load_for(const dataset::Dataset& training,
                                     const dataset::Dataset& tested,
                                     const std::string& name) {
  auto table = dataset::load_group_table(tested, name);
  if (!table) {
    return table;
  }
  for (dataset::GroupRow& row : table->rows) {
    for (GroupMember& member : row.members) {
      const std::string& workload = tested.profiles[member.profile].workload;
      const auto known = training.find(workload);
      if (!known) {
        return invalid_input(fmt::format(
            "{}/{}.csv: {}", tested.folder.string(), name, training.unknown_workload(workload)));
      }
      member.profile = *known;
    }
  }
  return table;
}

bool without_limits(const dataset::GroupTable& table) {
  return std::all_of(table.rows.begin(), table.rows.end(), [](const dataset::GroupRow& row) {
    return unlimited(row.members);
  });
}

struct TrainingRows {
  std::vector<dataset::GroupRow> rows;
  std::size_t largest = 0;  // group size
};

Result<TrainingRows> load_training(const dataset::Dataset& training,
                                   const std::vector<std::string>& tables) {
  TrainingRows out;
  for (auto name = tables.begin(); name != tables.end(); ++name) {
    if (std::find(tables.begin(), name, *name) != name) {
      return invalid_input(
          fmt::format("--train-table names {} twice: its rows would be counted twice", *name));
    }
    auto table = dataset::load_group_table(training, *name);
    if (!table) {
      return tl::unexpected(table.error());
    }
    out.largest = std::max(out.largest, table->group_size);
    std::move(table->rows.begin(), table->rows.end(), std::back_inserter(out.rows));
  }
  return out;
}

// A model that is trained without the members of a group has not seen its row.
bool is_trained_on(const dataset::Dataset& training,
                   const dataset::Dataset& tested,
                   const LargerGroupsRequest& request,
                   const std::string& name) {
  const auto& tables = request.train_tables;
  std::error_code unreadable;
  return !request.unseen_members && std::find(tables.begin(), tables.end(), name) != tables.end() &&
         std::filesystem::equivalent(training.folder, tested.folder, unreadable);
}

Result<std::vector<dataset::GroupTable>> load_tests(const dataset::Dataset& training,
                                                    const dataset::Dataset& tested,
                                                    const LargerGroupsRequest& request,
                                                    std::size_t largest_trained) {
  const bool chosen = !request.test_tables.empty();
  std::vector<dataset::GroupTable> tables;
  for (const std::string& name : chosen ? request.test_tables : list_group_tables(tested)) {
    if (chosen && is_trained_on(training, tested, request, name)) {
      return invalid_input(
          fmt::format("protocol larger-groups would train on table {} and test on the same rows: "
                      "name another one with --table or --train-table, or use --unseen-members",
                      name));
    }
    auto table = load_for(training, tested, name);
    if (!table) {
      return tl::unexpected(table.error());
    }
    if (chosen || (table->group_size > largest_trained && without_limits(*table))) {
      tables.push_back(std::move(*table));
    }
  }
  if (tables.empty()) {
    return invalid_input(
        fmt::format("{} has no table of groups of more than {} members: name one with --table",
                    tested.folder.string(),
                    largest_trained));
  }
  std::ranges::sort(tables, {}, [](const dataset::GroupTable& table) {
    return std::pair(table.group_size, std::string_view(table.name));
  });
  return tables;
}

bool shares_a_member(const dataset::GroupRow& row, const Group& group) {
  return std::any_of(group.begin(), group.end(), [&](const GroupMember& member) {
    return row.contains(member.profile);
  });
}

class GroupForecasts {
 public:
  GroupForecasts(const dataset::Dataset& dataset,
                 std::vector<dataset::GroupRow> training,
                 const LargerGroupsRequest& request)
      : dataset_(dataset), training_(std::move(training)), request_(request) {}

  [[nodiscard]] Result<std::vector<GroupForecast>> of(const dataset::GroupTable& table) {
    std::vector<Group> groups;
    groups.reserve(table.rows.size());
    for (const dataset::GroupRow& row : table.rows) {
      groups.push_back(row.members);
    }
    if (request_.unseen_members) {
      return each_unseen(table.name, groups);
    }
    if (!bound_) {
      auto bound = train(training_, "all members seen");
      if (!bound) {
        return tl::unexpected(bound.error());
      }
      bound_ = std::move(*bound);
    }
    return bound_->forecaster->forecast(groups, model::ForecastDetail::WithIntervals);
  }

 private:
  [[nodiscard]] Result<BoundPolicy> train(std::vector<dataset::GroupRow> rows,
                                          const std::string& label) const {
    EvaluationOptions options;
    options.features = request_.features;
    Trial trial{
        .label = label, .training = std::move(rows), .fit_rows = 0, .test = {}, .targets = {}};
    trial.fit_rows = trial.training.size();
    if (request_.on_progress) {
      request_.on_progress(label);
    }
    return bind_policy(request_.model, dataset_, trial, options);
  }

  [[nodiscard]] Result<std::vector<GroupForecast>> each_unseen(
      const std::string& label, const std::vector<Group>& groups) const {
    std::vector<GroupForecast> out;
    for (const Group& group : groups) {
      std::vector<dataset::GroupRow> rows;
      std::copy_if(training_.begin(),
                   training_.end(),
                   std::back_inserter(rows),
                   [&](const dataset::GroupRow& row) { return !shares_a_member(row, group); });
      const auto bound = train(std::move(rows), label);
      if (!bound) {
        return tl::unexpected(bound.error());
      }
      const std::vector<Group> one = {group};
      out.push_back(bound->forecaster->forecast(one, model::ForecastDetail::WithIntervals).front());
    }
    return out;
  }

  const dataset::Dataset& dataset_;
  std::vector<dataset::GroupRow> training_;
  const LargerGroupsRequest& request_;
  std::optional<BoundPolicy> bound_;
};

}  // namespace

LargerGroupsResult compare_groups(std::span<const Profile> profiles,
                                  std::span<const dataset::GroupRow> rows,
                                  std::span<const GroupForecast> forecasts) {
  const Accuracy accuracy = measure_accuracy(rows, forecasts);
  LargerGroupsResult out{.groups = rows.size(),
                         .mape_member = accuracy.mape_member,
                         .coverage90 = accuracy.coverage90,
                         .width90 = accuracy.width90,
                         .coverage90_sum = accuracy.coverage90_sum};
  std::vector<double> errors;
  std::vector<double> logs;
  std::vector<double> predicted_progress;
  std::vector<double> measured_progress;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out.group_size = rows[i].members.size();
    out.members += rows[i].members.size();
    double predicted = 0.0;
    double measured = 0.0;
    for (std::size_t m = 0; m < forecasts[i].members.size(); ++m) {
      const double solo = profiles[rows[i].members[m].profile].exclusive_throughput;
      const double forecast = forecasts[i].members[m].throughput;
      const double truth = rows[i].throughput[m];
      predicted += forecast / solo;
      measured += truth / solo;
      if (truth > 0.0) {
        errors.push_back(std::abs(forecast - truth) / truth);
        logs.push_back(std::log(forecast / truth));
      }
    }
    predicted_progress.push_back(predicted);
    measured_progress.push_back(measured);
  }
  out.bias_member = mean(logs);
  if (!errors.empty()) {
    out.median_member = median(std::move(errors));
    out.mape_progress = mean_absolute_percentage_error(predicted_progress, measured_progress);
  }
  return out;
}

Result<std::vector<LargerGroupsResult>> judge_larger_groups(const dataset::Dataset& training,
                                                            const dataset::Dataset& tested,
                                                            const LargerGroupsRequest& request) {
  auto trained = load_training(training, request.train_tables);
  if (!trained) {
    return tl::unexpected(trained.error());
  }
  const auto tables = load_tests(training, tested, request, trained->largest);
  if (!tables) {
    return tl::unexpected(tables.error());
  }
  GroupForecasts forecasts(training, std::move(trained->rows), request);
  std::vector<LargerGroupsResult> results;
  for (const dataset::GroupTable& table : *tables) {
    const dataset::GroupTable groups = average_repeats(table);
    const auto predicted = forecasts.of(groups);
    if (!predicted) {
      return tl::unexpected(predicted.error());
    }
    results.push_back(compare_groups(training.profiles, groups.rows, *predicted));
    results.back().table = table.name;
    results.back().noise = noise_of(table);
  }
  return results;
}

}  // namespace carpool::evaluate
