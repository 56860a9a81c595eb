#include "model/share/prior.hpp"

#include <algorithm>

#include <Eigen/Cholesky>

namespace carpool::model {
namespace {

// Widths of the published description of the model, for ten metrics.
constexpr std::array kGiven = {
    Effect{Block::Capacity, Similarity::Features, 0.1},
    Effect{Block::Capacity, Similarity::Own, 0.7},
    Effect{Block::Weight, Similarity::Features, 0.08},
    Effect{Block::Weight, Similarity::Own, 0.5},
    Effect{Block::Headroom, Similarity::Common, 1.0},
    Effect{Block::Headroom, Similarity::Features, 0.08},
    Effect{Block::Headroom, Similarity::Own, 0.3},
};

// The feature widths, the common headroom and the noise are the given ones; the level of a log
// throughput is vague (1); the others are starting points that the evidence of the training set
// moves. The last one only keeps the covariance of the gap invertible.
constexpr std::array kHierarchical = {
    Effect{Block::Capacity, Similarity::Common, 1.0, true},
    Effect{Block::Capacity, Similarity::Features, 0.1, true},
    Effect{Block::Capacity, Similarity::Family, 1.0, true},
    Effect{Block::Capacity, Similarity::Own, 0.1, true},
    Effect{Block::Weight, Similarity::Features, 0.08, true},
    Effect{Block::Weight, Similarity::Family, 0.4, true},
    Effect{Block::Weight, Similarity::Batch, 0.3, true},
    Effect{Block::Weight, Similarity::FamilyBatch, 0.3, true},
    Effect{Block::Weight, Similarity::Own, 0.1, true},
    Effect{Block::Headroom, Similarity::Common, 1.0, true},
    Effect{Block::Headroom, Similarity::Features, 0.08, true},
    Effect{Block::Headroom, Similarity::Family, 0.5, true},
    Effect{Block::Headroom, Similarity::Own, 0.1, true},
    Effect{Block::Gap, Similarity::Common, 0.3, true},
    Effect{Block::Gap, Similarity::Features, 0.1, true},
    Effect{Block::Gap, Similarity::Own, 1e-3, false},
};

}  // namespace

std::span<const Effect> given_effects() {
  return kGiven;
}

std::span<const Effect> hierarchical_effects() {
  return kHierarchical;
}

Eigen::MatrixXd block_covariance(const ShareDesign& design,
                                 std::span<const Effect> effects,
                                 std::span<const double> variances,
                                 Block block,
                                 const ShareDesign::Coordinates& left,
                                 const ShareDesign::Coordinates& right) {
  Eigen::MatrixXd covariance = Eigen::MatrixXd::Zero(left.batch.size(), right.batch.size());
  for (std::size_t k = 0; k < effects.size(); ++k) {
    if (effects[k].block == block) {
      covariance += variances[k] * design.similarity(effects[k].similarity, left, right);
    }
  }
  return covariance;
}

Conditional condition_block(const ShareDesign& design,
                            std::span<const Effect> effects,
                            std::span<const double> variances,
                            Block block,
                            const ShareDesign::Coordinates& trained,
                            const ShareDesign::Coordinates& newcomers) {
  const auto between = [&](const auto& left, const auto& right) {
    return block_covariance(design, effects, variances, block, left, right);
  };
  const Eigen::MatrixXd cross = between(newcomers, trained);
  Conditional out;
  out.loading = between(trained, trained).llt().solve(cross.transpose()).transpose();
  out.spread = between(newcomers, newcomers) - out.loading * cross.transpose();
  return out;
}

std::vector<double> starting_variances(std::span<const Effect> effects) {
  std::vector<double> variances(effects.size());
  std::transform(effects.begin(), effects.end(), variances.begin(), [](const Effect& effect) {
    return effect.deviation * effect.deviation;
  });
  return variances;
}

}  // namespace carpool::model
