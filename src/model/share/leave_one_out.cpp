#include "model/share/leave_one_out.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <Eigen/LU>

#include "base/statistics.hpp"

namespace carpool::model {
namespace {

// Beyond these factors the model is wrong.
constexpr double kLeastInflation = 0.5;
constexpr double kMostInflation = 2.0;
constexpr double kCovered = 0.9;  // share of the rows left out that intervals must cover

// Posterior covariance between the predictions of observations [first, last).
Eigen::MatrixXd predicted_covariance(const Linearised& here,
                                     const Eigen::MatrixXd& covariance,
                                     std::size_t first,
                                     std::size_t last) {
  const auto size = static_cast<Eigen::Index>(last - first);
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(size, size);
  for (Eigen::Index i = 0; i < size; ++i) {
    for (Eigen::Index j = 0; j < size; ++j) {
      for (const Slope& left : here.slopes(first + static_cast<std::size_t>(i))) {
        for (const Slope& right : here.slopes(first + static_cast<std::size_t>(j))) {
          out(i, j) += left.value * right.value * covariance(left.unknown, right.unknown);
        }
      }
    }
  }
  return out;
}

}  // namespace

LeftOut leave_one_row_out(const LatentProblem& problem,
                          const Linearised& here,
                          const Eigen::MatrixXd& covariance,
                          double noise) {
  const std::vector<MemberRun>& runs = problem.runs;
  const auto count = static_cast<Eigen::Index>(runs.size());
  LeftOut out{.residual = Eigen::VectorXd(count), .width = Eigen::VectorXd(count)};
  for (std::size_t first = 0; first < runs.size();) {
    std::size_t last = first + 1;
    while (last < runs.size() && runs[last].row == runs[first].row) {
      ++last;
    }
    // Without its own row the residual r grows to (I - V W)^-1 r and the variance V to
    // (I - V W)^-1 V; V: posterior covariance of the row's predictions, W: its weights.
    const Eigen::MatrixXd spread = predicted_covariance(here, covariance, first, last);
    const Eigen::Index size = spread.rows();
    Eigen::VectorXd residual(size);
    Eigen::MatrixXd keep = Eigen::MatrixXd::Identity(size, size);
    for (Eigen::Index i = 0; i < size; ++i) {
      const std::size_t k = first + static_cast<std::size_t>(i);
      residual(i) = here.residual[k];
      keep.col(i) -= spread.col(i) * here.weight[k];
    }
    const Eigen::MatrixXd growth = keep.inverse();
    const auto at = static_cast<Eigen::Index>(first);
    out.residual.segment(at, size) = growth * residual;
    const Eigen::VectorXd variance = (growth * spread).diagonal().cwiseMax(0.0);
    out.width.segment(at, size) =
        (kNormal95 * kNormal95 * variance.array() + kStudent95 * kStudent95 * noise * noise).sqrt();
    first = last;
  }
  return out;
}

LeaveOneOut judge_left_out(std::span<const MemberRun> runs, const LeftOut& left_out) {
  std::vector<double> standardised;
  double relative_errors = 0.0;
  double rows = 0.0;
  for (std::size_t first = 0; first < runs.size();) {
    double measured = 0.0;
    double predicted = 0.0;
    std::size_t k = first;
    for (; k < runs.size() && runs[k].row == runs[first].row; ++k) {
      const auto at = static_cast<Eigen::Index>(k);
      standardised.push_back(std::abs(left_out.residual(at)) / left_out.width(at));
      measured += std::exp(runs[k].log_throughput);
      predicted += std::exp(runs[k].log_throughput - left_out.residual(at));
    }
    relative_errors += std::abs(predicted - measured) / measured;
    rows += 1.0;
    first = k;
  }
  LeaveOneOut out;
  out.error_of_sum = rows > 0.0 ? relative_errors / rows : 0.0;
  if (standardised.size() >= kFewestLeftOut) {
    std::ranges::sort(standardised);
    const double needed = standardised[conformal_index(standardised.size(), kCovered)];
    out.inflation = std::clamp(needed, kLeastInflation, kMostInflation);
  }
  return out;
}

}  // namespace carpool::model
