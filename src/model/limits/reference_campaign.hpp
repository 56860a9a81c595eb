// Which of several measuring campaigns the share parameters belong to.
#pragma once

#include <span>
#include <string>

#include "dataset/dataset.hpp"
#include "model/share_parameters.hpp"

namespace carpool::model {

// Jobs may have had other versions in other campaigns; a forecast is for the version that the share
// model was fitted on. Rows without a campaign name are of that version. Where all rows have a
// name, only speeds can identify the campaign: of the members of its groups at 100 % each, the
// number that the share model reproduces within its own noise (0.2 in the logarithm) minus the
// number that it does not; the highest difference is the reference. A count rather than a mean or
// median, because a campaign of few groups can agree by chance. Without such groups, the campaign
// with the most rows. Ties go to the name that sorts first.
[[nodiscard]] std::string reference_campaign(std::span<const ShareParameters> share,
                                             std::span<const dataset::GroupRow> groups);

}  // namespace carpool::model
