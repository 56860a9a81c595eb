#include "learn/mlp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "learn/adam.hpp"
#include "learn/stored.hpp"

namespace carpool::learn {

namespace {

void step(MlpNetwork& network, Adam& adam, const MlpNetwork& gradient) {
  adam.begin_step();
  for (std::size_t index = 0; index < network.layers.size(); ++index) {
    adam.update(network.layers[index].weights, gradient.layers[index].weights);
    adam.update(network.layers[index].bias, gradient.layers[index].bias);
  }
}

Eigen::VectorXd dropout_mask(Eigen::Index rows, double rate, NumpyRandom& random) {
  Eigen::VectorXd keep = Eigen::VectorXd::Ones(rows);
  if (rate > 0.0) {
    for (double& value : keep) {
      value = random.uniform() < rate ? 0.0 : 1.0 / (1.0 - rate);
    }
  }
  return keep;
}

void train_epoch(MlpNetwork& network,
                 Adam& adam,
                 const Eigen::MatrixXd& rows,
                 const Eigen::VectorXd& targets,
                 const MlpSettings& settings,
                 NumpyRandom& random) {
  const std::vector<std::size_t> order = random.permutation(static_cast<std::size_t>(rows.rows()));
  for (std::size_t begin = 0; begin < order.size(); begin += settings.batch) {
    const std::size_t end = std::min(begin + settings.batch, order.size());
    const std::vector<std::size_t> taken(order.begin() + static_cast<std::ptrdiff_t>(begin),
                                         order.begin() + static_cast<std::ptrdiff_t>(end));
    const auto count = static_cast<Eigen::Index>(taken.size());
    const Eigen::VectorXd keep = dropout_mask(count, settings.output_dropout, random);
    step(network, adam, mlp_gradient(network, rows(taken, Eigen::all), targets(taken), keep));
  }
}

}  // namespace

MlpRegressor::MlpRegressor(MlpNetwork network) : network_(std::move(network)) {}

Eigen::VectorXd MlpRegressor::predict(const Eigen::MatrixXd& rows) const {
  return network_.predict(rows);
}

nlohmann::json MlpRegressor::to_json() const {
  nlohmann::json layers = nlohmann::json::array();
  for (const MlpLayer& layer : network_.layers) {
    layers.push_back({{"weights", stored_matrix(layer.weights)},
                      {"bias", stored_vector(layer.bias.transpose())}});
  }
  return {{"kind", kKind}, {"layers", std::move(layers)}};
}

Result<std::unique_ptr<Regressor>> MlpRegressor::from_json(const nlohmann::json& stored) {
  const auto layers = stored.is_object() ? stored.find("layers") : stored.end();
  if (layers == stored.end() || !layers->is_array() || layers->empty()) {
    return broken_entry("layers", "a list of layers");
  }
  MlpNetwork network;
  for (const nlohmann::json& stored_layer : *layers) {
    auto weights = read_matrix(stored_layer, "weights");
    if (!weights) {
      return tl::unexpected(weights.error());
    }
    const auto bias = read_vector(stored_layer, "bias");
    if (!bias || bias->size() != weights->cols()) {
      return broken_entry("bias", "one finite number for each column of \"weights\"");
    }
    if (!network.layers.empty() && network.layers.back().weights.cols() != weights->rows()) {
      return broken_entry("layers", "a list of layers that fit together");
    }
    network.layers.push_back({.weights = *std::move(weights), .bias = bias->transpose()});
  }
  if (network.layers.back().weights.cols() != 1) {
    return broken_entry("layers", "a network with one output");
  }
  return std::make_unique<MlpRegressor>(std::move(network));
}

std::unique_ptr<Regressor> fit_mlp(const Eigen::MatrixXd& rows,
                                   const Eigen::VectorXd& targets,
                                   const MlpSettings& settings,
                                   std::uint32_t seed) {
  NumpyRandom random(seed);
  MlpNetwork network = MlpNetwork::random(rows.cols(), settings.hidden, random);
  Adam adam(Adam::Variant::Keras, settings.learning_rate);
  const auto count = static_cast<double>(rows.rows());
  const auto trained = static_cast<Eigen::Index>(count * (1.0 - settings.validation_fraction));
  const Eigen::Index held = rows.rows() - trained;
  double best_error = std::numeric_limits<double>::infinity();
  std::size_t waited = 0;
  for (std::size_t epoch = 0; epoch < settings.epochs; ++epoch) {
    train_epoch(network, adam, rows.topRows(trained), targets.head(trained), settings, random);
    if (held == 0) {
      continue;
    }
    const double error =
        (network.predict(rows.bottomRows(held)) - targets.tail(held)).squaredNorm();
    waited = error < best_error ? 0 : waited + 1;
    best_error = std::min(best_error, error);
    if (waited >= settings.patience) {
      break;
    }
  }
  return std::make_unique<MlpRegressor>(std::move(network));
}

}  // namespace carpool::learn
