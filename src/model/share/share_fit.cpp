#include "model/share/share_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "learn/small_cholesky.hpp"
#include "model/share/evidence.hpp"
#include "model/share/leave_one_out.hpp"
#include "model/share/pair_interaction.hpp"
#include "model/share/prior.hpp"

namespace carpool::model {
namespace {

constexpr double kNoise = 0.2;             // given: of a log throughput
constexpr double kDegreesOfFreedom = 3.0;  // the smallest whole number with a finite variance
constexpr int kRounds = 12;                // the evidence is flat after about eight
constexpr int kLongFit = 100;              // steps in the first and the last round
constexpr int kShortFit = 3;               // steps in between

Eigen::VectorXd log_exclusive(std::span<const Profile> profiles) {
  Eigen::VectorXd out(static_cast<Eigen::Index>(profiles.size()));
  std::transform(profiles.begin(), profiles.end(), out.begin(), [](const Profile& profile) {
    return std::log(profile.exclusive_throughput);
  });
  return out;
}

// The fit with the given constants: normal noise, capacity around the exclusive throughput.
Eigen::VectorXd fit_given(const ShareFit& fit,
                          const std::vector<MemberRun>& runs,
                          const Eigen::VectorXd& log_solo) {
  const ShareDesign design(fit.trained, fit.selection, FeatureScale::Given);
  const ShareDesign::Coordinates places = design.place(fit.trained);
  const LatentProblem problem{.workloads = places.name.size(),
                              .runs = runs,
                              .level = log_solo,
                              .log_solo = {},
                              .noise = kNoise,
                              .noise_solo = kNoise,
                              .degrees_of_freedom = kGaussian};
  const auto variances = starting_variances(given_effects());
  const auto similarity = similarity_matrices(design, given_effects(), places);
  const Eigen::MatrixXd precision =
      prior_precision(given_effects(), similarity, variances, problem.blocks()).precision;
  Eigen::VectorXd latents = Eigen::VectorXd::Zero(problem.unknowns());
  minimise(problem, precision, kLongFit, latents);
  return latents;
}

// Measured - predicted by the averaged parameters, log units.
double residual_of(const ShareFit& fit, const MemberRun& run) {
  const ShareParameters own = trained_parameters(fit, run.own);
  double crowd = 1.0;
  for (const std::size_t other : run.others) {
    crowd += std::exp(trained_parameters(fit, other).log_weight - own.log_weight - own.headroom);
  }
  return run.log_throughput - own.log_capacity + std::log(crowd);
}

// Returns the leave-one-out residuals of the averaged parameters.
LeftOut fit_hierarchical(const ShareDesign& design,
                         const ShareDesign::Coordinates& places,
                         const std::vector<MemberRun>& runs,
                         const Eigen::VectorXd& log_solo,
                         ShareFit& fit) {
  const auto workloads = static_cast<Eigen::Index>(places.name.size());
  fit.level = log_solo.mean();
  LatentProblem problem{.workloads = places.name.size(),
                        .runs = runs,
                        .level = Eigen::VectorXd::Constant(workloads, fit.level),
                        .log_solo = log_solo,
                        .noise = kNoise,
                        .noise_solo = kNoise,
                        .degrees_of_freedom = kDegreesOfFreedom};
  fit.variances = starting_variances(hierarchical_effects());
  fit.hierarchical = Eigen::VectorXd::Zero(problem.unknowns());
  fit.hierarchical.head(workloads) = log_solo.array() - fit.level;
  const auto similarity = similarity_matrices(design, hierarchical_effects(), places);
  const EvidenceUpdate update(hierarchical_effects(), similarity, kNoise);
  LeftOut left_out;
  for (int round = 0; round < kRounds; ++round) {
    const bool last = round == kRounds - 1;
    const PriorPrecision prior =
        prior_precision(hierarchical_effects(), similarity, fit.variances, problem.blocks());
    minimise(problem, prior.precision, round == 0 || last ? kLongFit : kShortFit, fit.hierarchical);
    const Linearised here = linearise(problem, fit.hierarchical);
    fit.covariance = learn::SmallCholesky(curvature(here, prior.precision)).inverse();
    if (!last) {
      update.move(here, prior, fit.hierarchical, fit.covariance, fit.variances, problem);
      continue;
    }
    left_out = leave_one_row_out(problem, here, fit.covariance, problem.noise);
    for (std::size_t k = 0; k < runs.size(); ++k) {
      const auto at = static_cast<Eigen::Index>(k);
      left_out.residual(at) += residual_of(fit, runs[k]) - here.residual[k];
    }
  }
  fit.noise = problem.noise;
  fit.noise_solo = problem.noise_solo;
  return left_out;
}

}  // namespace

ShareParameters trained_parameters(const ShareFit& fit, std::size_t position) {
  const auto workloads = static_cast<Eigen::Index>(fit.trained.size());
  const auto mean_of = [&](Block block) {
    const Eigen::Index at =
        static_cast<Eigen::Index>(block) * workloads + static_cast<Eigen::Index>(position);
    return 0.5 * (fit.given(at) + fit.hierarchical(at));
  };
  const double level = std::log(fit.trained[position].exclusive_throughput) + fit.level;
  return {.log_capacity = 0.5 * level + mean_of(Block::Capacity),
          .log_weight = mean_of(Block::Weight),
          .headroom = mean_of(Block::Headroom)};
}

double trained_log_solo(const ShareFit& fit, std::size_t position) {
  const auto workloads = static_cast<Eigen::Index>(fit.trained.size());
  const auto latent = [&](Block block) {
    return fit.hierarchical(static_cast<Eigen::Index>(block) * workloads +
                            static_cast<Eigen::Index>(position));
  };
  return fit.level + latent(Block::Capacity) - latent(Block::Gap);
}

ShareFit fit_share(std::span<const Profile> profiles,
                   std::span<const dataset::GroupRow> rows,
                   const dataset::FeatureSelection& selection) {
  ShareFit fit;
  fit.selection = selection;
  constexpr auto kAbsent = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> position(profiles.size(), kAbsent);
  std::set<std::size_t> sizes;
  for (const dataset::GroupRow& row : rows) {
    sizes.insert(row.members.size());
    for (const GroupMember& member : row.members) {
      if (position[member.profile] == kAbsent) {
        position[member.profile] = fit.trained.size();
        fit.trained.push_back(profiles[member.profile]);
      }
    }
  }
  fit.sizes.assign(sizes.begin(), sizes.end());
  const std::vector<MemberRun> runs = to_member_runs(rows, position);
  const ShareDesign design(fit.trained, selection);
  const ShareDesign::Coordinates places = design.place(fit.trained);
  const Eigen::VectorXd log_solo = log_exclusive(fit.trained);
  fit.given = fit_given(fit, runs, log_solo);
  LeftOut left_out = fit_hierarchical(design, places, runs, log_solo, fit);
  Eigen::VectorXd log_weight(static_cast<Eigen::Index>(fit.trained.size()));
  for (std::size_t i = 0; i < fit.trained.size(); ++i) {
    log_weight(static_cast<Eigen::Index>(i)) = trained_parameters(fit, i).log_weight;
  }
  PairInteractionFit interaction =
      fit_pair_interaction(places, runs, left_out.residual, log_weight);
  left_out.residual = std::move(interaction.left_out);
  const LeaveOneOut judged = judge_left_out(runs, left_out);
  fit.pair_interaction = std::move(interaction.pull);
  fit.inflation = judged.inflation;
  fit.holdout_error = judged.error_of_sum;
  Eigen::VectorXd fitted_solo(static_cast<Eigen::Index>(fit.trained.size()));
  for (std::size_t i = 0; i < fit.trained.size(); ++i) {
    fitted_solo(static_cast<Eigen::Index>(i)) = trained_log_solo(fit, i);
  }
  fit.turns = fit_turns(design, places, runs, fitted_solo);
  return fit;
}

}  // namespace carpool::model
