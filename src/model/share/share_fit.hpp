// The two fits of `share`, and their results.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "dataset/dataset.hpp"
#include "dataset/features.hpp"
#include "model/share/latent_fit.hpp"
#include "model/share/turn_fit.hpp"
#include "model/share_parameters.hpp"

namespace carpool::model {

// Everything that is learned from the training rows. Latents are block after block (capacity,
// weight, headroom, gap), in each block one entry per trained workload.
struct ShareFit {
  std::vector<Profile> trained;         // the workloads of the training rows
  dataset::FeatureSelection selection;  // metrics used
  std::vector<std::size_t> sizes;       // group sizes among the training rows, ascending
  Eigen::VectorXd given;                // 3 blocks; capacity relative to log exclusive throughput
  Eigen::VectorXd hierarchical;         // 4 blocks; capacity relative to `level`
  double level = 0.0;                   // mean log exclusive throughput
  std::vector<double> variances;        // of hierarchical_effects(), after the evidence
  Eigen::MatrixXd covariance;           // posterior of `hierarchical` (Laplace)
  Eigen::MatrixXd pair_interaction;     // PairInteractionFit::pull between trained workloads
  double noise = 0.0;                   // scale of a group run, log units
  double noise_solo = 0.0;              // scale of a solo run, log units
  double inflation = 1.0;               // factor on interval widths, from leave-one-out
  double holdout_error = 0.0;           // relative error of the sum of a row, from leave-one-out
  // For groups of three and more; absent in files of versions that predicted them by weights.
  std::optional<TurnFit> turns;
};

// Log of the solo speed of a trained workload as fitted, units/s: a stale recording counts little.
[[nodiscard]] double trained_log_solo(const ShareFit& fit, std::size_t position);

// Two fits with different assumptions, neither preferred: the parameters of a trained workload are
// averaged.
[[nodiscard]] ShareParameters trained_parameters(const ShareFit& fit, std::size_t position);

// `rows` must hold at least one positive throughput.
[[nodiscard]] ShareFit fit_share(std::span<const Profile> profiles,
                                 std::span<const dataset::GroupRow> rows,
                                 const dataset::FeatureSelection& selection);

}  // namespace carpool::model
