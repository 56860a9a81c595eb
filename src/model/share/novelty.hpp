// Whether a workload is similar to one that the model was trained on.
#pragma once

#include <span>
#include <vector>

#include "core/profile.hpp"
#include "model/share/design.hpp"

namespace carpool::model {

// True where no workload of the same family was trained on and the metrics lie further from the
// nearest trained workload than trained families lie from each other, or a metric lies more than
// three deviations out. Without metrics only the family counts.
[[nodiscard]] std::vector<bool> unlike_training(const ShareDesign& design,
                                                std::span<const Profile> trained,
                                                std::span<const Profile> profiles);

}  // namespace carpool::model
