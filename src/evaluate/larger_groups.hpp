// Protocol larger-groups: a model trained on the small groups of one folder predicts the groups of
// another folder, table by table.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/forecast.hpp"
#include "dataset/dataset.hpp"
#include "evaluate/repeats.hpp"

namespace carpool::evaluate {

struct LargerGroupsRequest {
  std::string model{};
  std::vector<std::string> train_tables = {"pairs"};
  std::vector<std::string> test_tables{};  // empty: every table of groups larger than the trained
  // Each group is predicted by a model that was trained without its members.
  bool unseen_members = false;
  std::string features = "default";
  std::function<void(const std::string&)> on_progress{};  // called once per training
};

// Ratios from 0 to 1. A group that was measured more than once counts once, by its mean.
struct LargerGroupsResult {
  std::string table{};
  std::size_t group_size = 0;
  std::size_t groups = 0;
  std::size_t members = 0;
  std::optional<double> mape_member{};     // mean relative error of a member's speed
  std::optional<double> median_member{};   // median of the same
  std::optional<double> bias_member{};     // mean of log(predicted / measured)
  std::optional<double> mape_progress{};   // mean relative error of the summed share of solo speed
  std::optional<double> coverage90{};      // share of members inside their interval
  std::optional<double> width90{};         // mean interval width of a member / its prediction
  std::optional<double> coverage90_sum{};  // of the sum of throughputs
  std::optional<Noise> noise{};            // between runs of the same group
};

// The profiles are those of `training`: workloads of `tested` are found there by name.
[[nodiscard]] Result<std::vector<LargerGroupsResult>> judge_larger_groups(
    const dataset::Dataset& training,
    const dataset::Dataset& tested,
    const LargerGroupsRequest& request);

// The part of judge_larger_groups() for one table. `forecasts[i]` is for `rows[i]`.
[[nodiscard]] LargerGroupsResult compare_groups(std::span<const Profile> profiles,
                                                std::span<const dataset::GroupRow> rows,
                                                std::span<const GroupForecast> forecasts);

}  // namespace carpool::evaluate
