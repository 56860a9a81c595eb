#include "model/share/pair_interaction.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "learn/small_cholesky.hpp"

namespace carpool::model {
namespace {

// Root mean square difference of features up to which two workloads count as close. Chosen on the
// V100 data.
constexpr double kReach = 0.5;
// Variance of g over the variance of the noise; the most probable of these is used.
constexpr std::array kRatios = {0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0};
constexpr std::size_t kFirstTried = 2;
// Hyperprior of the remaining noise, log units, with the weight of this many observations.
constexpr double kPairNoise = 0.05;
constexpr double kPseudoObservations = 10.0;

// Above this number of runs, an even sample is used.
constexpr std::size_t kMostRuns = 800;

// One row per run: the factor of g(i, j) for each other member j.
Eigen::MatrixXd interaction_parts(std::span<const MemberRun> runs,
                                  const Eigen::VectorXd& log_weight) {
  Eigen::MatrixXd parts =
      Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(runs.size()), log_weight.size());
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const auto row = static_cast<Eigen::Index>(k);
    for (const std::size_t other : runs[k].others) {
      const auto column = static_cast<Eigen::Index>(other);
      parts(row, column) += std::exp(log_weight(column));
    }
    parts.row(row) /= parts.row(row).sum() * std::sqrt(static_cast<double>(runs[k].others.size()));
  }
  return parts;
}

Eigen::VectorXi own_of(std::span<const MemberRun> runs) {
  Eigen::VectorXi own(static_cast<Eigen::Index>(runs.size()));
  std::transform(runs.begin(), runs.end(), own.begin(), [](const MemberRun& run) {
    return static_cast<int>(run.own);
  });
  return own;
}

// The process with one ratio of variances, conditioned on the residuals.
struct Conditioned {
  double ratio = 0.0;
  learn::SmallCholesky factor;  // of ratio * similarity + identity
  Eigen::VectorXd solved;       // its inverse on the residuals
  double surprise = 0.0;        // - log evidence
};

Conditioned condition(const Eigen::MatrixXd& similarity,
                      const Eigen::VectorXd& residual,
                      double ratio) {
  Eigen::MatrixXd covariance = ratio * similarity;
  covariance.diagonal().array() += 1.0;
  Conditioned out{
      .ratio = ratio, .factor = learn::SmallCholesky(std::move(covariance)), .solved = {}};
  out.solved = out.factor.solve(residual);
  const double observations = static_cast<double>(residual.size()) + kPseudoObservations;
  const double variance =
      (residual.dot(out.solved) + kPseudoObservations * kPairNoise * kPairNoise) / observations;
  out.surprise = 0.5 * (observations * std::log(variance) + out.factor.log_determinant());
  return out;
}

// The most probable of kRatios. The evidence usually has one peak: the search climbs from the
// middle.
Conditioned most_probable(const Eigen::MatrixXd& similarity, const Eigen::VectorXd& residual) {
  std::size_t at = kFirstTried;
  Conditioned best = condition(similarity, residual, kRatios[at]);
  for (const int direction : {1, -1}) {
    for (std::size_t next = at + static_cast<std::size_t>(direction); next < kRatios.size();
         next += static_cast<std::size_t>(direction)) {
      Conditioned tried = condition(similarity, residual, kRatios[next]);
      if (!(tried.surprise < best.surprise)) {
        break;
      }
      best = std::move(tried);
      at = next;
    }
    if (at != kFirstTried) {
      break;
    }
  }
  return best;
}

}  // namespace

Eigen::MatrixXd closeness(const ShareDesign::Coordinates& left,
                          const ShareDesign::Coordinates& right) {
  Eigen::MatrixXd out(left.batch.size(), right.batch.size());
  for (Eigen::Index i = 0; i < out.rows(); ++i) {
    for (Eigen::Index j = 0; j < out.cols(); ++j) {
      const auto row = static_cast<std::size_t>(i);
      const auto column = static_cast<std::size_t>(j);
      if (left.name[row] == right.name[column]) {
        out(i, j) = 1.0;
      } else if (left.measured[row] && right.measured[column]) {
        const double square =
            (left.features.row(i) - right.features.row(j)).array().square().mean();
        out(i, j) = std::exp(-square / (2.0 * kReach * kReach));
      } else {
        out(i, j) = 0.0;  // no sign of similarity
      }
    }
  }
  return out;
}

PairInteractionFit fit_pair_interaction(const ShareDesign::Coordinates& trained,
                                        std::span<const MemberRun> runs,
                                        const Eigen::VectorXd& residual,
                                        const Eigen::VectorXd& log_weight) {
  const Eigen::MatrixXd near = closeness(trained, trained);
  const Eigen::MatrixXd parts = interaction_parts(runs, log_weight);
  const Eigen::VectorXi own = own_of(runs);
  const auto step = static_cast<Eigen::Index>((runs.size() + kMostRuns - 1) / kMostRuns);
  const auto learned = Eigen::seq(0, Eigen::last, std::max<Eigen::Index>(step, 1));
  const Eigen::MatrixXd taken = parts(learned, Eigen::all);
  const Eigen::VectorXi taken_own = own(learned);
  const Eigen::MatrixXd similarity =
      (taken * near * taken.transpose()).cwiseProduct(near(taken_own, taken_own));
  const Conditioned best = most_probable(similarity, residual(learned));

  PairInteractionFit out{.pull = Eigen::MatrixXd::Zero(near.rows(), near.cols()), .left_out = {}};
  for (Eigen::Index k = 0; k < taken.rows(); ++k) {
    out.pull.row(taken_own(k)) += best.ratio * best.solved(k) * taken.row(k);
  }
  const Eigen::MatrixXd interaction = near * out.pull * near;
  out.left_out = residual - interaction(own, Eigen::all).cwiseProduct(parts).rowwise().sum();
  out.left_out(learned) = best.solved.array() / best.factor.inverse_diagonal().array();
  return out;
}

}  // namespace carpool::model
