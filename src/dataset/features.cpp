#include "dataset/features.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace carpool::dataset {
namespace {

constexpr std::string_view kXuGroup = "xu";

bool is_default(const MetricInfo& metric) {
  return metric.group != kXuGroup;
}

bool in_xu_group(const MetricInfo& metric) {
  return metric.group == kXuGroup;
}

// Xu et al. (HotCloud'19) also use how busy SMs and memory are, by nvidia-smi.
bool is_xu_feature(const MetricInfo& metric) {
  return in_xu_group(metric) || metric.name == "sm_busy_pct" || metric.name == "mem_busy_pct";
}

struct NamedSelection {
  std::string_view name;
  bool (*takes)(const MetricInfo&);
  // The dataset must have at least one such metric; null: no requirement.
  bool (*needs)(const MetricInfo&);
  bool exclusive_throughput;
};

constexpr std::array<NamedSelection, 6> kSelections{{
    {"default", is_default, nullptr, true},
    {"kernel",
     [](const MetricInfo& metric) { return metric.group == "kernel"; },
     [](const MetricInfo& metric) { return metric.group == "kernel"; },
     true},
    {"system",
     [](const MetricInfo& metric) { return metric.group == "system"; },
     [](const MetricInfo& metric) { return metric.group == "system"; },
     true},
    {"none", [](const MetricInfo&) { return false; }, nullptr, true},
    // The published baseline does not use the solo throughput.
    {"xu", is_xu_feature, in_xu_group, false},
    {"default+xu", [](const MetricInfo&) { return true; }, in_xu_group, true},
}};

}  // namespace

Result<FeatureSelection> select_features(const Dataset& dataset, std::string_view name) {
  const auto* const known = std::find_if(
      kSelections.begin(), kSelections.end(), [name](const auto& s) { return s.name == name; });
  if (known == kSelections.end()) {
    std::string names;
    for (const NamedSelection& selection : kSelections) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", selection.name);
    }
    return invalid_input(fmt::format("unknown features \"{}\"; known: {}", name, names));
  }
  if (known->needs != nullptr &&
      std::none_of(dataset.metrics.begin(), dataset.metrics.end(), known->needs)) {
    return fail(ErrorCode::Unsupported,
                fmt::format("features \"{}\": no metric of {} is in that group; name some in the "
                            "[metrics] section of dataset.toml",
                            name,
                            dataset.folder.string()));
  }
  FeatureSelection selection{.metrics = {}, .exclusive_throughput = known->exclusive_throughput};
  std::copy_if(dataset.metrics.begin(),
               dataset.metrics.end(),
               std::back_inserter(selection.metrics),
               known->takes);
  return selection;
}

std::optional<double> full_scale(std::string_view metric) {
  if (metric.find("pct") != std::string_view::npos || metric.find('%') != std::string_view::npos) {
    return 100.0;
  }
  for (const std::string_view share : {"_active", "_occupancy", "_share"}) {
    if (metric.ends_with(share)) {
      return 1.0;
    }
  }
  return std::nullopt;
}

Eigen::MatrixXd member_features(const FeatureSelection& selection,
                                std::span<const Profile> profiles) {
  const auto rows = static_cast<Eigen::Index>(profiles.size());
  Eigen::MatrixXd features(rows, static_cast<Eigen::Index>(selection.size()));
  for (std::size_t column = 0; column < selection.metrics.size(); ++column) {
    const std::string& name = selection.metrics[column].name;
    double sum = 0.0;
    std::size_t measured = 0;
    for (const Profile& profile : profiles) {
      if (const auto found = profile.metrics.find(name); found != profile.metrics.end()) {
        sum += found->second;
        ++measured;
      }
    }
    const double mean = measured == 0 ? 0.0 : sum / static_cast<double>(measured);
    for (Eigen::Index row = 0; row < rows; ++row) {
      const Profile& profile = profiles[static_cast<std::size_t>(row)];
      const auto found = profile.metrics.find(name);
      features(row, static_cast<Eigen::Index>(column)) =
          found == profile.metrics.end() ? mean : found->second;
    }
  }
  if (selection.exclusive_throughput) {
    for (Eigen::Index row = 0; row < rows; ++row) {
      features(row, features.cols() - 1) =
          profiles[static_cast<std::size_t>(row)].exclusive_throughput;
    }
  }
  return features;
}

Eigen::MatrixXd group_features(const FeatureSelection& selection,
                               const Eigen::MatrixXd& member_features,
                               std::span<const Group> groups) {
  Eigen::MatrixXd features = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(groups.size()),
                                                   static_cast<Eigen::Index>(selection.size()));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    auto row = features.row(static_cast<Eigen::Index>(i));
    for (const GroupMember& member : groups[i]) {
      row += member_features.row(static_cast<Eigen::Index>(member.profile));
    }
    if (groups[i].empty()) {
      continue;
    }
    for (std::size_t column = 0; column < selection.metrics.size(); ++column) {
      if (selection.metrics[column].combine == Combine::Mean) {
        row(static_cast<Eigen::Index>(column)) /= static_cast<double>(groups[i].size());
      }
    }
  }
  return features;
}

}  // namespace carpool::dataset
