// Variances and noise from the training rows themselves: MacKay's fixed point of the Laplace
// evidence, with an inverse-gamma hyperprior that pulls each variance towards its start.
#pragma once

#include <array>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "model/share/design.hpp"
#include "model/share/latent_fit.hpp"
#include "model/share/prior.hpp"

namespace carpool {

// The inverse of a symmetric positive definite matrix.
[[nodiscard]] Eigen::MatrixXd invert(const Eigen::MatrixXd& matrix);

struct PriorPrecision {
  Eigen::MatrixXd precision;             // of all latents: block diagonal
  std::vector<Eigen::MatrixXd> inverse;  // of each block's covariance
};

[[nodiscard]] PriorPrecision prior_precision(const ShareDesign& design,
                                             std::span<const Effect> effects,
                                             std::span<const double> variances,
                                             std::size_t blocks,
                                             const ShareDesign::Coordinates& places);

class EvidenceUpdate {
 public:
  EvidenceUpdate(const ShareDesign& design,
                 const ShareDesign::Coordinates& places,
                 double starting_noise);

  // One step at a fitted point: moves the variances of hierarchical_effects() and the two noise
  // scales of `problem`.
  void move(const Linearised& here,
            const PriorPrecision& prior,
            const Eigen::VectorXd& latents,
            const Eigen::MatrixXd& covariance,
            std::vector<double>& variances,
            LatentProblem& problem) const;

 private:
  std::vector<double> start_;
  std::vector<Eigen::MatrixXd> likeness_;  // of each effect
  double starting_noise_;
};

}  // namespace carpool
