#include "learn/mlp_network.hpp"

#include <cmath>
#include <cstddef>
#include <utility>

namespace carpool::learn {

MlpNetwork MlpNetwork::random(Eigen::Index inputs,
                              const std::vector<Eigen::Index>& hidden,
                              NumpyRandom& random) {
  std::vector<Eigen::Index> widths = hidden;
  widths.push_back(1);
  MlpNetwork network;
  for (const Eigen::Index outputs : widths) {
    const double limit = std::sqrt(6.0 / static_cast<double>(inputs + outputs));
    MlpLayer layer{.weights = Eigen::MatrixXd(inputs, outputs),
                   .bias = Eigen::RowVectorXd::Zero(outputs)};
    for (double& weight : layer.weights.reshaped()) {
      weight = limit * (2.0 * random.uniform() - 1.0);
    }
    network.layers.push_back(std::move(layer));
    inputs = outputs;
  }
  return network;
}

MlpNetwork MlpNetwork::zero_like() const {
  MlpNetwork zero;
  for (const MlpLayer& layer : layers) {
    zero.layers.push_back(
        {.weights = Eigen::MatrixXd::Zero(layer.weights.rows(), layer.weights.cols()),
         .bias = Eigen::RowVectorXd::Zero(layer.bias.size())});
  }
  return zero;
}

Eigen::VectorXd MlpNetwork::predict(const Eigen::MatrixXd& rows) const {
  Eigen::MatrixXd signal = rows;
  for (const MlpLayer& layer : layers) {
    signal = (signal * layer.weights).rowwise() + layer.bias;
    if (&layer != &layers.back()) {
      signal = signal.cwiseMax(0.0);
    }
  }
  return signal.col(0);
}

MlpNetwork mlp_gradient(const MlpNetwork& network,
                        const Eigen::MatrixXd& rows,
                        const Eigen::VectorXd& targets,
                        const Eigen::VectorXd& keep) {
  std::vector<Eigen::MatrixXd> signals = {rows};  // input of each layer, then the output
  for (const MlpLayer& layer : network.layers) {
    Eigen::MatrixXd signal = (signals.back() * layer.weights).rowwise() + layer.bias;
    if (&layer != &network.layers.back()) {
      signal = signal.cwiseMax(0.0);
    }
    signals.push_back(std::move(signal));
  }
  const Eigen::ArrayXd output = signals.back().col(0).array();
  Eigen::MatrixXd delta = (2.0 / static_cast<double>(rows.rows())) * keep.array() *
                          (keep.array() * output - targets.array());
  MlpNetwork gradient = network.zero_like();
  for (std::size_t index = network.layers.size(); index-- > 0;) {
    gradient.layers[index].weights.noalias() = signals[index].transpose() * delta;
    gradient.layers[index].bias = delta.colwise().sum();
    if (index > 0) {
      const Eigen::MatrixXd before = delta * network.layers[index].weights.transpose();
      delta = (signals[index].array() > 0.0).select(before, 0.0);
    }
  }
  return gradient;
}

}  // namespace carpool::learn
