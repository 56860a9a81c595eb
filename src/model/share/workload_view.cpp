#include "model/share/workload_view.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include <Eigen/Cholesky>

#include "model/share/evidence.hpp"
#include "model/share/novelty.hpp"
#include "model/share/pair_interaction.hpp"
#include "model/share/prior.hpp"

namespace carpool::model {
namespace {

constexpr double kSoloDegreesOfFreedom = 3.0;  // of the noise of a solo run, as in the fit
constexpr int kReweightings = 50;
constexpr double kSettled = 1e-8;

Eigen::VectorXd block_of(const Eigen::VectorXd& latents, Block block, Eigen::Index workloads) {
  return latents.segment(static_cast<Eigen::Index>(block) * workloads, workloads);
}

// The update by the solo runs of new workloads: c - e = log E - level + t noise.
struct SoloUpdate {
  Eigen::VectorXd capacity;
  Eigen::VectorXd gap;
  Eigen::MatrixXd gain;  // of the capacity on the surprise
};

SoloUpdate observe_solo(const Eigen::VectorXd& capacity,
                        const Eigen::VectorXd& gap,
                        const Eigen::MatrixXd& capacity_spread,
                        const Eigen::MatrixXd& gap_spread,
                        const Eigen::VectorXd& solo,
                        double noise) {
  const double variance = noise * noise;
  const Eigen::VectorXd surprise = solo - capacity + gap;
  SoloUpdate out{.capacity = capacity, .gap = gap, .gain = {}};
  Eigen::LLT<Eigen::MatrixXd> solver;
  for (int round = 0; round < kReweightings; ++round) {
    const Eigen::VectorXd residual = solo - out.capacity + out.gap;
    Eigen::MatrixXd total = capacity_spread + gap_spread;
    total.diagonal().array() += variance *
                                (kSoloDegreesOfFreedom + residual.array().square() / variance) /
                                (kSoloDegreesOfFreedom + 1.0);
    solver.compute(total);
    const Eigen::VectorXd pull = solver.solve(surprise);
    const Eigen::VectorXd moved = capacity + capacity_spread * pull;
    const double change = (moved - out.capacity).cwiseAbs().maxCoeff();
    out.capacity = moved;
    out.gap = gap - gap_spread * pull;
    if (change < kSettled) {
      break;
    }
  }
  out.gain = solver.solve(capacity_spread).transpose();
  return out;
}

}  // namespace

ProfileViews::ProfileViews(const ShareFit& fit, std::span<const Profile> profiles)
    : profiles_(profiles), views_(profiles.size()), place_(profiles.size()) {
  loading_ =
      Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(3 * profiles.size()), fit.covariance.cols());
  std::map<std::string, std::size_t> trained;
  for (std::size_t i = 0; i < fit.trained.size(); ++i) {
    trained.emplace(fit.trained[i].workload, i);
  }
  const ShareDesign design(fit.trained, fit.selection);
  const ShareDesign::Coordinates places = design.place(profiles);
  std::map<std::string, Family> newcomers;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    if (const auto found = trained.find(profiles[i].workload); found != trained.end()) {
      view_trained(fit, i, found->second);
    } else {
      newcomers[places.family[i]].members.push_back(i);
    }
  }
  for (auto& [name, family] : newcomers) {
    view_family(fit, design, std::move(family));
  }
  loading_covariance_ = loading_ * fit.covariance;
  const Eigen::MatrixXd near = closeness(places, design.place(fit.trained));
  pair_interaction_ = near * fit.pair_interaction * near.transpose();
  // Novelty is judged by the plain logarithms, in which every metric has the same weight.
  const ShareDesign plain(fit.trained, fit.selection, FeatureScale::Given);
  const std::vector<bool> outside = unlike_training(plain, fit.trained, profiles);
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    views_[i].outside = !views_[i].trained && outside[i];
  }
}

void ProfileViews::view_trained(const ShareFit& fit, std::size_t profile, std::size_t position) {
  const auto workloads = static_cast<Eigen::Index>(fit.trained.size());
  const auto place = static_cast<Eigen::Index>(position);
  views_[profile] = {.share = trained_parameters(fit, position),
                     .log_solo = trained_log_solo(fit, position),
                     .trained = true,
                     .outside = false};
  for (Eigen::Index block = 0; block < 3; ++block) {
    loading_(3 * static_cast<Eigen::Index>(profile) + block, block * workloads + place) = 1.0;
  }
}

void ProfileViews::view_family(const ShareFit& fit, const ShareDesign& design, Family family) {
  const auto workloads = static_cast<Eigen::Index>(fit.trained.size());
  const auto size = static_cast<Eigen::Index>(family.members.size());
  std::vector<Profile> members;
  Eigen::VectorXd log_exclusive(size);
  for (const std::size_t profile : family.members) {
    log_exclusive(static_cast<Eigen::Index>(members.size())) =
        std::log(profiles_[profile].exclusive_throughput);
    members.push_back(profiles_[profile]);
  }
  const ShareDesign::Coordinates trained = design.place(fit.trained);
  const ShareDesign::Coordinates newcomers = design.place(members);
  std::vector<Conditional> blocks;
  std::vector<Eigen::VectorXd> means;
  for (std::size_t block = 0; block < kBlocks; ++block) {
    blocks.push_back(condition_block(design,
                                     hierarchical_effects(),
                                     fit.variances,
                                     static_cast<Block>(block),
                                     trained,
                                     newcomers));
    means.emplace_back(blocks.back().loading *
                       block_of(fit.hierarchical, static_cast<Block>(block), workloads));
  }
  const SoloUpdate solo = observe_solo(means[0],
                                       means[3],
                                       blocks[0].spread,
                                       blocks[3].spread,
                                       log_exclusive.array() - fit.level,
                                       fit.noise_solo);
  family.spread = Eigen::MatrixXd::Zero(3 * size, 3 * size);
  const Eigen::MatrixXd capacity_loading = blocks[0].loading - solo.gain * blocks[0].loading;
  const Eigen::MatrixXd capacity_spread = blocks[0].spread - solo.gain * blocks[0].spread;
  for (Eigen::Index i = 0; i < size; ++i) {
    const std::size_t profile = family.members[static_cast<std::size_t>(i)];
    // Only the hierarchical fit: the given constants have no families, and hardly use features.
    const ShareParameters expected = {fit.level + solo.capacity(i), means[1](i), means[2](i)};
    views_[profile] = {.share = expected,
                       .log_solo = expected.log_capacity - solo.gap(i),
                       .trained = false,
                       .outside = false};
    const Eigen::Index row = 3 * static_cast<Eigen::Index>(profile);
    loading_.row(row).segment(0, workloads) = capacity_loading.row(i);
    loading_.row(row).segment(3 * workloads, workloads) = solo.gain.row(i) * blocks[3].loading;
    loading_.row(row + 1).segment(workloads, workloads) = blocks[1].loading.row(i);
    loading_.row(row + 2).segment(2 * workloads, workloads) = blocks[2].loading.row(i);
    for (Eigen::Index j = 0; j < size; ++j) {
      family.spread(3 * i, 3 * j) = capacity_spread(i, j);
      family.spread(3 * i + 1, 3 * j + 1) = blocks[1].spread(i, j);
      family.spread(3 * i + 2, 3 * j + 2) = blocks[2].spread(i, j);
    }
    place_[profile] = {families_.size(), static_cast<std::size_t>(i)};
  }
  families_.push_back(std::move(family));
}

Eigen::Matrix3d ProfileViews::covariance(std::size_t left, std::size_t right) const {
  const auto row = static_cast<Eigen::Index>(3 * left);
  const auto column = static_cast<Eigen::Index>(3 * right);
  Eigen::Matrix3d out =
      loading_covariance_.middleRows<3>(row) * loading_.middleRows<3>(column).transpose();
  if (place_[left] && place_[right] && place_[left]->first == place_[right]->first) {
    out += families_[place_[left]->first].spread.block<3, 3>(
        static_cast<Eigen::Index>(3 * place_[left]->second),
        static_cast<Eigen::Index>(3 * place_[right]->second));
  }
  return out;
}

}  // namespace carpool::model
