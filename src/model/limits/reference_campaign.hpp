// Which of several measuring campaigns the share parameters belong to.
#pragma once

#include <span>
#include <string>

#include "dataset/dataset.hpp"
#include "model/share_parameters.hpp"

namespace carpool::model {

// Jobs may have been other versions of themselves in other campaigns; a forecast is for the version
// that the share model was fitted on. That is what rows without a campaign name are. Where all have
// one, no name ties a campaign to the model, only its speeds do: of the members of its groups at
// 100 % each, count those that the share model reproduces within its own noise (0.2 in the
// logarithm) and take off those that it misses; the highest count is the reference. A count rather
// than a mean or median, because a campaign of few groups can agree as well by luck or by being the
// same software, and the one that covers more is the better tied. Without such groups, the campaign
// with the most rows. Ties go to the name that sorts first.
[[nodiscard]] std::string reference_campaign(std::span<const ShareParameters> share,
                                             std::span<const dataset::GroupRow> groups);

}  // namespace carpool::model
