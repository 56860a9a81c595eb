// The metrics that a model uses, and the matrices made of them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <Eigen/Core>

#include "base/result.hpp"
#include "core/group.hpp"
#include "core/profile.hpp"
#include "dataset/dataset.hpp"

namespace carpool::dataset {

// Metrics by name, so that a model file can be applied to profiles of another dataset.
struct FeatureSelection {
  std::vector<MetricInfo> metrics;
  bool exclusive_throughput = true;  // appended as the last column
  [[nodiscard]] std::size_t size() const { return metrics.size() + (exclusive_throughput ? 1 : 0); }
};

// "default" (all but group xu), "kernel", "system", "none", "default+xu": metrics by their group,
// and the solo throughput. "xu": the published baseline of Xu et al., group xu with sm_busy_pct and
// mem_busy_pct and without the solo throughput. An error where the dataset has no such group.
[[nodiscard]] Result<FeatureSelection> select_features(const Dataset& dataset,
                                                       std::string_view name);

// The largest possible value of a metric whose name marks it as a share: 100
// for percentages (pct, %), 1 for names that end in _active, _occupancy or _share.
[[nodiscard]] std::optional<double> full_scale(std::string_view metric);

// One row per profile. A missing value becomes the mean of its column over the profiles that have
// it (0 where none has).
[[nodiscard]] Eigen::MatrixXd member_features(const FeatureSelection& selection,
                                              std::span<const Profile> profiles);

// One row per group: each column summed or averaged over the members (exclusive throughput summed).
[[nodiscard]] Eigen::MatrixXd group_features(const FeatureSelection& selection,
                                             const Eigen::MatrixXd& member_features,
                                             std::span<const Group> groups);

}  // namespace carpool::dataset
