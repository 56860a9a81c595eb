#include "model/share/evidence.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <Eigen/Cholesky>

namespace carpool {
namespace {

// The hyperprior counts as much as so many observations.
constexpr double kPseudoObservations = 10.0;

// slope' covariance slope: the posterior variance of one predicted observation.
double predicted_variance(const std::vector<Slope>& slopes, const Eigen::MatrixXd& covariance) {
  double variance = 0.0;
  for (const Slope& left : slopes) {
    for (const Slope& right : slopes) {
      variance += left.value * right.value * covariance(left.unknown, right.unknown);
    }
  }
  return variance;
}

// Scale of the observations [first, last): weighted squares over the freedom that the fit has left.
double moved_noise(const Linearised& here,
                   const Eigen::MatrixXd& covariance,
                   std::size_t first,
                   std::size_t last,
                   double noise,
                   double starting_noise) {
  double squares = kPseudoObservations * starting_noise * starting_noise;
  double freedom = static_cast<double>(last - first);
  for (std::size_t k = first; k < last; ++k) {
    squares += here.weight[k] * here.residual[k] * here.residual[k] * noise * noise;
    freedom -= here.weight[k] * predicted_variance(here.slopes[k], covariance);
  }
  return std::sqrt(squares / (std::max(freedom, 0.0) + kPseudoObservations));
}

}  // namespace

Eigen::MatrixXd invert(const Eigen::MatrixXd& matrix) {
  return matrix.selfadjointView<Eigen::Lower>().llt().solve(
      Eigen::MatrixXd::Identity(matrix.rows(), matrix.cols()));
}

PriorPrecision prior_precision(const ShareDesign& design,
                               std::span<const Effect> effects,
                               std::span<const double> variances,
                               std::size_t blocks,
                               const ShareDesign::Coordinates& places) {
  const Eigen::Index workloads = places.batch.size();
  const Eigen::Index unknowns = static_cast<Eigen::Index>(blocks) * workloads;
  PriorPrecision out{.precision = Eigen::MatrixXd::Zero(unknowns, unknowns), .inverse = {}};
  for (std::size_t block = 0; block < blocks; ++block) {
    out.inverse.push_back(invert(
        block_covariance(design, effects, variances, static_cast<Block>(block), places, places)));
    const Eigen::Index from = static_cast<Eigen::Index>(block) * workloads;
    out.precision.block(from, from, workloads, workloads) = out.inverse.back();
  }
  return out;
}

EvidenceUpdate::EvidenceUpdate(const ShareDesign& design,
                               const ShareDesign::Coordinates& places,
                               double starting_noise)
    : start_(starting_variances(hierarchical_effects())), starting_noise_(starting_noise) {
  for (const Effect& effect : hierarchical_effects()) {
    likeness_.push_back(design.likeness(effect.likeness, places, places));
  }
}

void EvidenceUpdate::move(const Linearised& here,
                          const PriorPrecision& prior,
                          const Eigen::VectorXd& latents,
                          const Eigen::MatrixXd& covariance,
                          std::vector<double>& variances,
                          LatentProblem& problem) const {
  const auto effects = hierarchical_effects();
  const auto workloads = static_cast<Eigen::Index>(problem.workloads);
  for (std::size_t k = 0; k < effects.size(); ++k) {
    if (!effects[k].learned || likeness_[k].isZero()) {
      continue;
    }
    // a = v (K^-1 m)' A (K^-1 m), gamma = v (tr K^-1 A - tr S K^-1 A K^-1); at the optimum of the
    // evidence a = gamma. A: likeness, K: covariance of the block, m, S: its posterior.
    const auto block = static_cast<std::size_t>(effects[k].block);
    const Eigen::Index from = static_cast<Eigen::Index>(block) * workloads;
    const Eigen::MatrixXd& inverse = prior.inverse[block];
    const Eigen::VectorXd whitened = inverse * latents.segment(from, workloads);
    const Eigen::MatrixXd spread = inverse * likeness_[k];
    const double posterior_trace = covariance.block(from, from, workloads, workloads)
                                       .cwiseProduct((spread * inverse).transpose())
                                       .sum();
    const double used = variances[k] * whitened.dot(likeness_[k] * whitened);
    const double determined = variances[k] * (spread.trace() - posterior_trace);
    variances[k] *= (used + kPseudoObservations * start_[k] / variances[k]) /
                    (determined + kPseudoObservations);
  }
  const std::size_t runs = problem.co_runs.size();
  problem.noise = moved_noise(here, covariance, 0, runs, problem.noise, starting_noise_);
  problem.noise_alone = moved_noise(
      here, covariance, runs, problem.observations(), problem.noise_alone, starting_noise_);
}

}  // namespace carpool
