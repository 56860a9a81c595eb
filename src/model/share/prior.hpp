// The Gaussian prior of the latents: each block (capacity, weight, headroom, gap) is a sum of
// effects, one for each kind of similarity of workloads, with its own variance.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "model/share/design.hpp"

namespace carpool::model {

enum class Block : std::size_t { Capacity, Weight, Headroom, Gap };
inline constexpr std::size_t kBlocks = 4;

struct Effect {
  Block block = Block::Capacity;
  Similarity similarity = Similarity::Own;
  double deviation = 0.0;  // prior standard deviation, log units
  bool learned = false;    // its variance is moved by the evidence; `deviation` is where it starts
};

// The constants given with the proportional-share model (docs/model.md, table 1): three blocks.
[[nodiscard]] std::span<const Effect> given_effects();

// The hierarchical prior (docs/model.md, table 2): four blocks.
[[nodiscard]] std::span<const Effect> hierarchical_effects();

// Covariance of one block between two lists of workloads; `variances` as the effects, in order.
[[nodiscard]] Eigen::MatrixXd block_covariance(const ShareDesign& design,
                                               std::span<const Effect> effects,
                                               std::span<const double> variances,
                                               Block block,
                                               const ShareDesign::Coordinates& left,
                                               const ShareDesign::Coordinates& right);

// Given the latents t of trained workloads, a block of new ones is normal with mean loading * t.
struct Conditional {
  Eigen::MatrixXd loading;
  Eigen::MatrixXd spread;
};
[[nodiscard]] Conditional condition_block(const ShareDesign& design,
                                          std::span<const Effect> effects,
                                          std::span<const double> variances,
                                          Block block,
                                          const ShareDesign::Coordinates& trained,
                                          const ShareDesign::Coordinates& newcomers);

[[nodiscard]] std::vector<double> starting_variances(std::span<const Effect> effects);

}  // namespace carpool::model
