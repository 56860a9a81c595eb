// Pair interactions: beside some partners a workload is faster or slower than the weights predict,
// and so are similar workloads beside similar partners. The residual of member i of a group S is
// modelled as
//   r_i(S) = sum over the others j of w_ij(S) g(i, j) / sqrt(number of others) + noise,
//   w_ij(S): j's part of the weight of the others,
// with g a Gaussian process over pairs of workloads: covariance of g(i, j) and g(i', j') is
// proportional to closeness(i, i') * closeness(j, j') (docs/model.md, "Pair interactions").
#pragma once

#include <span>

#include <Eigen/Core>

#include "model/share/design.hpp"
#include "model/share/latent_fit.hpp"

namespace carpool::model {

// 1 for the same workload, falling to 0 with the distance of the features.
[[nodiscard]] Eigen::MatrixXd closeness(const ShareDesign::Coordinates& left,
                                        const ShareDesign::Coordinates& right);

struct PairInteractionFit {
  // g(i, j) = sum over trained a, b of closeness(i, a) * pull(a, b) * closeness(j, b)
  Eigen::MatrixXd pull;
  // Of each group run, what remains of its residual when it is predicted from the others.
  Eigen::VectorXd left_out;
};

// `residual` of each group run, log units; `log_weight` of each trained workload. The time grows
// with the cube of the number of runs, so above 800 it learns from an even sample.
[[nodiscard]] PairInteractionFit fit_pair_interaction(const ShareDesign::Coordinates& trained,
                                                      std::span<const MemberRun> runs,
                                                      const Eigen::VectorXd& residual,
                                                      const Eigen::VectorXd& log_weight);

}  // namespace carpool::model
