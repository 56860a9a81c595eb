// Variances and noise from the training rows: the fixed point of MacKay for the Laplace evidence,
// with an inverse-gamma hyperprior that pulls each variance towards its start.
#pragma once

#include <array>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "model/share/design.hpp"
#include "model/share/latent_fit.hpp"
#include "model/share/prior.hpp"

namespace carpool::model {

struct PriorPrecision {
  Eigen::MatrixXd precision;             // of all latents: block diagonal
  std::vector<Eigen::MatrixXd> inverse;  // of each block's covariance
};

// One matrix per effect.
[[nodiscard]] std::vector<Eigen::MatrixXd> similarity_matrices(
    const ShareDesign& design,
    std::span<const Effect> effects,
    const ShareDesign::Coordinates& places);

// `similarity` as from similarity_matrices().
[[nodiscard]] PriorPrecision prior_precision(std::span<const Effect> effects,
                                             std::span<const Eigen::MatrixXd> similarity,
                                             std::span<const double> variances,
                                             std::size_t blocks);

class EvidenceUpdate {
 public:
  // `similarity` of `effects`; both must outlive it.
  EvidenceUpdate(std::span<const Effect> effects,
                 std::span<const Eigen::MatrixXd> similarity,
                 double starting_noise);

  // One step at a fitted point: moves the variances of the effects and the two noise scales of
  // `problem`.
  void move(const Linearised& here,
            const PriorPrecision& prior,
            const Eigen::VectorXd& latents,
            const Eigen::MatrixXd& covariance,
            std::vector<double>& variances,
            LatentProblem& problem) const;

 private:
  std::span<const Effect> effects_;
  std::vector<double> start_;
  std::span<const Eigen::MatrixXd> similarity_;  // of each effect
  double starting_noise_;
};

}  // namespace carpool::model
