#include "model/limits/reference_campaign.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <tuple>

namespace carpool::model {
namespace {

constexpr double kShareNoise = 0.2;

struct Campaign {
  std::ptrdiff_t agreement = 0;  // members at 100 % each that were reproduced, less those missed
  std::size_t rows = 0;
};

// log T_i of the share model, see ShareParameters.
double log_unlimited(std::span<const ShareParameters> share,
                     const Group& group,
                     std::size_t member) {
  const ShareParameters& own = share[group[member].profile];
  double divisor = 1.0;
  for (std::size_t j = 0; j < group.size(); ++j) {
    if (j != member) {
      divisor += std::exp(share[group[j].profile].log_weight - own.log_weight - own.headroom);
    }
  }
  return own.log_capacity - std::log(divisor);
}

std::ptrdiff_t agreement(std::span<const ShareParameters> share, const dataset::GroupRow& row) {
  const bool unlimited =
      std::all_of(row.members.begin(), row.members.end(), [](const GroupMember& member) {
        return member.thread_limit == kAllThreads;
      });
  if (!unlimited || row.members.size() < 2) {
    return 0;
  }
  std::ptrdiff_t count = 0;
  for (std::size_t i = 0; i < row.members.size(); ++i) {
    const double error = std::log(row.throughput[i]) - log_unlimited(share, row.members, i);
    count += std::abs(error) < kShareNoise ? 1 : -1;
  }
  return count;
}

}  // namespace

std::string reference_campaign(std::span<const ShareParameters> share,
                               std::span<const dataset::GroupRow> groups) {
  std::map<std::string, Campaign> campaigns;
  for (const dataset::GroupRow& row : groups) {
    Campaign& campaign = campaigns[row.campaign];
    ++campaign.rows;
    campaign.agreement += agreement(share, row);
  }
  if (campaigns.empty() || campaigns.contains("")) {
    return "";
  }
  const auto best =
      std::max_element(campaigns.begin(), campaigns.end(), [](const auto& left, const auto& right) {
        return std::tie(left.second.agreement, left.second.rows) <
               std::tie(right.second.agreement, right.second.rows);
      });
  return best->first;
}

}  // namespace carpool::model
