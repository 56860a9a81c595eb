// Leave-one-out predictions of the training rows, from the leverage of each row, without refitting.
#pragma once

#include <cstddef>
#include <span>

#include <Eigen/Core>

#include "model/share/latent_fit.hpp"

namespace carpool::model {

// Quantiles of the 90 % interval: normal, and Student's t with three degrees of freedom.
inline constexpr double kNormal95 = 1.6448536269514722;
inline constexpr double kStudent95 = 2.3533634348018264;

// One entry per group run, in order.
struct LeftOut {
  Eigen::VectorXd residual;  // of the fit without the row, log units
  Eigen::VectorXd width;     // half of its 90 % interval, log units
};

[[nodiscard]] LeftOut leave_one_row_out(const LatentProblem& problem,
                                        const Linearised& here,
                                        const Eigen::MatrixXd& covariance,
                                        double noise);

struct LeaveOneOut {
  double inflation = 1.0;     // interval widths times this cover 90 % of the rows left out
  double error_of_sum = 0.0;  // mean relative error of the sum of a row
};

// With fewer residuals a quantile is meaningless: the factor stays 1.
inline constexpr std::size_t kFewestLeftOut = 20;

[[nodiscard]] LeaveOneOut judge_left_out(std::span<const MemberRun> runs, const LeftOut& left_out);

}  // namespace carpool::model
