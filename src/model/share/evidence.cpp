#include "model/share/evidence.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "learn/small_cholesky.hpp"

namespace carpool::model {
namespace {

// The hyperprior has the weight of this many observations.
constexpr double kPriorObservations = 10.0;

// slope' covariance slope: the posterior variance of one predicted observation.
double predicted_variance(std::span<const Slope> slopes, const Eigen::MatrixXd& covariance) {
  double variance = 0.0;
  for (const Slope& left : slopes) {
    for (const Slope& right : slopes) {
      variance += left.value * right.value * covariance(left.unknown, right.unknown);
    }
  }
  return variance;
}

// Scale of the observations [first, last): weighted squares over the remaining degrees of freedom.
double moved_noise(const Linearised& here,
                   const Eigen::MatrixXd& covariance,
                   std::size_t first,
                   std::size_t last,
                   double noise,
                   double starting_noise) {
  double squares = kPriorObservations * starting_noise * starting_noise;
  double freedom = static_cast<double>(last - first);
  for (std::size_t k = first; k < last; ++k) {
    squares += here.weight[k] * here.residual[k] * here.residual[k] * noise * noise;
    freedom -= here.weight[k] * predicted_variance(here.slopes(k), covariance);
  }
  return std::sqrt(squares / (std::max(freedom, 0.0) + kPriorObservations));
}

}  // namespace

std::vector<Eigen::MatrixXd> similarity_matrices(const ShareDesign& design,
                                                 std::span<const Effect> effects,
                                                 const ShareDesign::Coordinates& places) {
  std::vector<Eigen::MatrixXd> out;
  for (const Effect& effect : effects) {
    out.push_back(design.similarity(effect.similarity, places, places));
  }
  return out;
}

PriorPrecision prior_precision(std::span<const Effect> effects,
                               std::span<const Eigen::MatrixXd> similarity,
                               std::span<const double> variances,
                               std::size_t blocks) {
  const Eigen::Index workloads = similarity.front().rows();
  const Eigen::Index unknowns = static_cast<Eigen::Index>(blocks) * workloads;
  PriorPrecision out{.precision = Eigen::MatrixXd::Zero(unknowns, unknowns), .inverse = {}};
  for (std::size_t block = 0; block < blocks; ++block) {
    Eigen::MatrixXd covariance = Eigen::MatrixXd::Zero(workloads, workloads);
    for (std::size_t k = 0; k < effects.size(); ++k) {
      if (effects[k].block == static_cast<Block>(block)) {
        covariance += variances[k] * similarity[k];
      }
    }
    out.inverse.push_back(learn::SmallCholesky(std::move(covariance)).inverse());
    const Eigen::Index from = static_cast<Eigen::Index>(block) * workloads;
    out.precision.block(from, from, workloads, workloads) = out.inverse.back();
  }
  return out;
}

EvidenceUpdate::EvidenceUpdate(std::span<const Effect> effects,
                               std::span<const Eigen::MatrixXd> similarity,
                               double starting_noise)
    : effects_(effects),
      start_(starting_variances(effects)),
      similarity_(similarity),
      starting_noise_(starting_noise) {}

void EvidenceUpdate::move(const Linearised& here,
                          const PriorPrecision& prior,
                          const Eigen::VectorXd& latents,
                          const Eigen::MatrixXd& covariance,
                          std::vector<double>& variances,
                          LatentProblem& problem) const {
  const auto workloads = static_cast<Eigen::Index>(problem.workloads);
  // a = v (K^-1 m)' A (K^-1 m), gamma = v (tr K^-1 A - tr S K^-1 A K^-1); at the optimum of the
  // evidence a = gamma. A: similarity, K: covariance of the block, m, S: its posterior. With
  // D = K^-1 - K^-1 S K^-1, which all effects of a block share, gamma = v sum A * D.
  std::vector<Eigen::VectorXd> whitened;
  std::vector<Eigen::MatrixXd> settled;
  for (std::size_t block = 0; block < prior.inverse.size(); ++block) {
    const Eigen::Index from = static_cast<Eigen::Index>(block) * workloads;
    const Eigen::MatrixXd& inverse = prior.inverse[block];
    whitened.emplace_back(inverse * latents.segment(from, workloads));
    settled.emplace_back(inverse -
                         inverse * covariance.block(from, from, workloads, workloads) * inverse);
  }
  for (std::size_t k = 0; k < effects_.size(); ++k) {
    if (!effects_[k].learned || similarity_[k].isZero()) {
      continue;
    }
    const auto block = static_cast<std::size_t>(effects_[k].block);
    const double used = variances[k] * whitened[block].dot(similarity_[k] * whitened[block]);
    const double determined = variances[k] * similarity_[k].cwiseProduct(settled[block]).sum();
    variances[k] *=
        (used + kPriorObservations * start_[k] / variances[k]) / (determined + kPriorObservations);
  }
  const std::size_t runs = problem.runs.size();
  problem.noise = moved_noise(here, covariance, 0, runs, problem.noise, starting_noise_);
  problem.noise_solo = moved_noise(
      here, covariance, runs, problem.observations(), problem.noise_solo, starting_noise_);
}

}  // namespace carpool::model
