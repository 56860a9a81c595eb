#include "model/share/turn_views.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace carpool::model {
namespace {

constexpr auto kTurnRows = static_cast<Eigen::Index>(kBlocks);

}  // namespace

TurnViews::TurnViews(const ShareFit& fit,
                     std::span<const Profile> profiles,
                     std::span<const WorkloadView> views)
    : newcomer_(profiles.size()), noise_(fit.turns->noise), inflation_(fit.turns->inflation) {
  const auto workloads = static_cast<Eigen::Index>(fit.trained.size());
  loading_ = Eigen::MatrixXd::Zero(kTurnRows * static_cast<Eigen::Index>(profiles.size()),
                                   fit.turns->latents.size());
  std::map<std::string, Eigen::Index> trained;
  for (std::size_t i = 0; i < fit.trained.size(); ++i) {
    trained.emplace(fit.trained[i].workload, static_cast<Eigen::Index>(i));
  }
  std::vector<Profile> newcomers;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    if (const auto found = trained.find(profiles[i].workload); found != trained.end()) {
      for (Eigen::Index block = 0; block < kTurnRows; ++block) {
        loading_(kTurnRows * static_cast<Eigen::Index>(i) + block,
                 block * workloads + found->second) = 1.0;
      }
    } else {
      newcomer_[i] = newcomers.size();
      newcomers.push_back(profiles[i]);
    }
  }
  if (!newcomers.empty()) {
    const ShareDesign design(fit.trained, fit.selection);
    const ShareDesign::Coordinates known = design.place(fit.trained);
    const ShareDesign::Coordinates unknown = design.place(newcomers);
    for (Eigen::Index block = 0; block < kTurnRows; ++block) {
      Conditional conditional = condition_block(
          design, turn_effects(), fit.turns->variances, static_cast<Block>(block), known, unknown);
      for (std::size_t i = 0; i < profiles.size(); ++i) {
        if (newcomer_[i]) {
          loading_.row(kTurnRows * static_cast<Eigen::Index>(i) + block)
              .segment(block * workloads, workloads) =
              conditional.loading.row(static_cast<Eigen::Index>(*newcomer_[i]));
        }
      }
      spread_.push_back(std::move(conditional.spread));
    }
  }
  loading_covariance_ = loading_ * fit.turns->covariance;
  const Eigen::VectorXd latents = loading_ * fit.turns->latents;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const auto row = kTurnRows * static_cast<Eigen::Index>(i);
    const auto of = [&](Block block) { return latents(row + static_cast<Eigen::Index>(block)); };
    turns_.push_back(turn_from_latents(of(kTurnLength), of(kTurnOpen), of(kTurnSlip)));
    speeds_.push_back(std::exp(views[i].log_solo + of(kTurnCost)));
  }
}

Eigen::Matrix4d TurnViews::covariance(std::size_t left, std::size_t right) const {
  const Eigen::Index row = kTurnRows * static_cast<Eigen::Index>(left);
  const Eigen::Index column = kTurnRows * static_cast<Eigen::Index>(right);
  Eigen::Matrix4d out =
      loading_covariance_.middleRows<4>(row) * loading_.middleRows<4>(column).transpose();
  if (newcomer_[left] && newcomer_[right]) {
    for (Eigen::Index block = 0; block < kTurnRows; ++block) {
      out(block, block) +=
          spread_[static_cast<std::size_t>(block)](static_cast<Eigen::Index>(*newcomer_[left]),
                                                   static_cast<Eigen::Index>(*newcomer_[right]));
    }
  }
  return out;
}

}  // namespace carpool::model
