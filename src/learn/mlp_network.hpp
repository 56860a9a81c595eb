// A fully connected network with ReLU between its layers and one linear output.
#pragma once

#include <cstdint>
#include <vector>

#include <Eigen/Core>

#include "base/numpy_random.hpp"

namespace carpool::learn {

struct MlpLayer {
  Eigen::MatrixXd weights;  // inputs x outputs
  Eigen::RowVectorXd bias;
};

struct MlpNetwork {
  std::vector<MlpLayer> layers;

  // Glorot-uniform weights (limit √(6 / (inputs + outputs))), biases 0.
  [[nodiscard]] static MlpNetwork random(Eigen::Index inputs,
                                         const std::vector<Eigen::Index>& hidden,
                                         NumpyRandom& random);

  // The same layers, all zero.
  [[nodiscard]] MlpNetwork zero_like() const;

  [[nodiscard]] Eigen::VectorXd predict(const Eigen::MatrixXd& rows) const;
};

// Gradient of the mean of (keep_i output_i - target_i)² over the rows, with respect to all weights
// and biases. `keep` is the mask of a dropout of the output: 0, or 1 / (1 - rate); all 1 without
// dropout.
[[nodiscard]] MlpNetwork mlp_gradient(const MlpNetwork& network,
                                      const Eigen::MatrixXd& rows,
                                      const Eigen::VectorXd& targets,
                                      const Eigen::VectorXd& keep);

}  // namespace carpool::learn
