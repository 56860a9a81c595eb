// The two fits behind `share`, and what is kept of them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "dataset/dataset.hpp"
#include "dataset/features.hpp"
#include "model/share/latent_fit.hpp"
#include "model/share_parameters.hpp"

namespace carpool::model {

// Everything that is learned from the training rows. Latents are block after block (capacity,
// weight, headroom, gap), in each block one entry a trained workload.
struct ShareFit {
  std::vector<Profile> trained;         // the workloads of the training rows
  dataset::FeatureSelection selection;  // metrics looked at
  std::vector<std::size_t> sizes;       // group sizes among the training rows, ascending
  Eigen::VectorXd given;                // 3 blocks; capacity relative to log exclusive throughput
  Eigen::VectorXd hierarchical;         // 4 blocks; capacity relative to `level`
  double level = 0.0;                   // mean log exclusive throughput
  std::vector<double> variances;        // of hierarchical_effects(), after the evidence
  Eigen::MatrixXd covariance;           // posterior of `hierarchical` (Laplace)
  Eigen::MatrixXd company;              // CompanyFit::pull between trained workloads
  double noise = 0.0;                   // scale of a co-run, log units
  double noise_alone = 0.0;             // scale of a run alone, log units
  double inflation = 1.0;               // factor on interval widths, from rows left out in turn
  double holdout_error = 0.0;           // relative error of the sum of a row that is left out
};

// Two fits with different assumptions, neither preferred: the parameters of a trained workload are
// averaged.
[[nodiscard]] ShareParameters trained_parameters(const ShareFit& fit, std::size_t position);

// `rows` must hold at least one positive throughput.
[[nodiscard]] ShareFit fit_share(std::span<const Profile> profiles,
                                 std::span<const dataset::GroupRow> rows,
                                 const dataset::FeatureSelection& selection);

}  // namespace carpool::model
