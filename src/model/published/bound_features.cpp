#include "model/published/bound_features.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace carpool::model {

Result<Eigen::MatrixXd> bound_features(const dataset::FeatureSelection& selection,
                                       std::span<const Profile> profiles,
                                       std::string_view user) {
  for (const dataset::MetricInfo& metric : selection.metrics) {
    if (std::none_of(profiles.begin(), profiles.end(), [&](const Profile& profile) {
          return profile.metrics.contains(metric.name);
        })) {
      return fail(ErrorCode::Unsupported,
                  fmt::format("{} needs the metric {}, which no profile has", user, metric.name));
    }
  }
  return dataset::member_features(selection, profiles);
}

}  // namespace carpool::model
