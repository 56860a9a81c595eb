// What proportional shares leave over: beside some partners a workload does better or worse than
// the weights say, and so does one that is like it beside one that is like them. The residual of
// member i of a group S is taken as
//   r_i(S) = sum over the others j of w_ij(S) g(i, j) / sqrt(number of others) + noise,
//   w_ij(S): j's part of the weight of the others,
// with g a Gaussian process over pairs of workloads: covariance of g(i, j) and g(i', j') is
// proportional to closeness(i, i') * closeness(j, j') (docs/model.md, "Company").
#pragma once

#include <span>

#include <Eigen/Core>

#include "model/share/design.hpp"
#include "model/share/latent_fit.hpp"

namespace carpool::model {

// 1 for the same workload, falling to 0 with the distance of the features.
[[nodiscard]] Eigen::MatrixXd closeness(const ShareDesign::Coordinates& left,
                                        const ShareDesign::Coordinates& right);

struct CompanyFit {
  // g(i, j) = sum over trained a, b of closeness(i, a) * pull(a, b) * closeness(j, b)
  Eigen::MatrixXd pull;
  // Of each co-run, what remains of its residual when it is predicted from the others.
  Eigen::VectorXd left_out;
};

// `residual` of each co-run, log units; `log_weight` of each trained workload. The time grows with
// the cube of the co-runs that it learns from, so of very many only every so manieth is taken.
[[nodiscard]] CompanyFit fit_company(const ShareDesign::Coordinates& trained,
                                     std::span<const CoRun> runs,
                                     const Eigen::VectorXd& residual,
                                     const Eigen::VectorXd& log_weight);

}  // namespace carpool::model
