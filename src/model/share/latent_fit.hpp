// The most probable parameters of the proportional-share model, given measured groups and a
// Gaussian prior. Both fits of `share` use it, with different priors and noise.
//
// For member i of a group S (docs/model.md, equation 1):
//   log T_i(S) = a_i + c_i - log(1 + sum_{j in S, j != i} exp(b_j - b_i - d_i)) + noise
//   c: log capacity relative to the given level a_i;  b: log weight;  d: headroom
// and, when solo runs are part of the problem (equation 2):
//   log E_i = a_i + c_i - e_i + noise;                e: capacity over solo speed
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "dataset/dataset.hpp"

namespace carpool::model {

inline constexpr double kGaussian = std::numeric_limits<double>::infinity();

// The run of one member of a measured group; workloads by position in the list of trained ones.
struct MemberRun {
  std::size_t row = 0;  // equal for the members of one measurement
  std::size_t own = 0;
  std::vector<std::size_t> others;
  double log_throughput = 0.0;
};

// `position[profile]` is the position of a profile among the trained workloads. A member with a
// measured speed of zero has no logarithm and is left out; it still counts beside the others.
[[nodiscard]] std::vector<MemberRun> to_member_runs(std::span<const dataset::GroupRow> rows,
                                                    std::span<const std::size_t> position);

struct LatentProblem {
  std::size_t workloads = 0;
  std::vector<MemberRun> runs;
  Eigen::VectorXd level;                  // a_i
  Eigen::VectorXd log_solo;               // log E_i; empty: no solo runs, and no e
  double noise = 0.2;                     // scale of group runs
  double noise_solo = 0.2;                // scale of solo runs
  double degrees_of_freedom = kGaussian;  // of Student's t; kGaussian: normal noise

  [[nodiscard]] std::size_t blocks() const { return log_solo.size() > 0 ? 4 : 3; }
  [[nodiscard]] Eigen::Index unknowns() const {
    return static_cast<Eigen::Index>(blocks() * workloads);
  }
  [[nodiscard]] std::size_t observations() const {
    return runs.size() + static_cast<std::size_t>(log_solo.size());
  }
};

// Sum of -log density over residuals of one scale, without constants.
[[nodiscard]] double residual_loss(const LatentProblem& problem,
                                   std::span<const double> residuals,
                                   double scale);

// Derivative of the loss of one residual, divided by the residual.
[[nodiscard]] double residual_weight(const LatentProblem& problem, double residual, double scale);

// One derivative of one observation.
struct Slope {
  Eigen::Index unknown = 0;
  double value = 0.0;
};

// The problem around one point. Observations: group runs first, then solo runs.
struct Linearised {
  std::vector<double> residual;   // measured - predicted, log units
  std::vector<double> weight;     // of the reweighted least-squares step
  std::vector<Slope> all_slopes;  // non-zero derivatives, observation after observation
  std::vector<std::size_t> ends;  // where the derivatives of an observation end

  [[nodiscard]] std::span<const Slope> slopes(std::size_t observation) const {
    const std::size_t from = observation == 0 ? 0 : ends[observation - 1];
    return std::span(all_slopes).subspan(from, ends[observation] - from);
  }
};

[[nodiscard]] Linearised linearise(const LatentProblem& problem, const Eigen::VectorXd& latents);

// precision + sum of weight * slope * slope', lower triangle.
[[nodiscard]] Eigen::MatrixXd curvature(const Linearised& at, const Eigen::MatrixXd& precision);

// Levenberg-Marquardt from `latents`, in place; returns the cost reached
//   sum of -log density of the residuals (without constants) + latents' precision latents / 2.
double minimise(const LatentProblem& problem,
                const Eigen::MatrixXd& precision,
                int most_steps,
                Eigen::VectorXd& latents);

}  // namespace carpool::model
