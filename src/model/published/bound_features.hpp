// Features of the profiles that a model or rule is applied to.
#pragma once

#include <span>
#include <string_view>

#include <Eigen/Core>

#include "base/result.hpp"
#include "core/profile.hpp"
#include "dataset/features.hpp"

namespace carpool::model {

// member_features(), but Unsupported when no profile has one of the metrics. `user` names the model
// or rule in the message.
[[nodiscard]] Result<Eigen::MatrixXd> bound_features(const dataset::FeatureSelection& selection,
                                                     std::span<const Profile> profiles,
                                                     std::string_view user);

}  // namespace carpool::model
