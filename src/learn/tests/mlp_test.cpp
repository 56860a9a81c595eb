#include "learn/mlp.hpp"

#include <gtest/gtest.h>

namespace carpool::learn {
namespace {

double loss(const MlpNetwork& network,
            const Eigen::MatrixXd& rows,
            const Eigen::VectorXd& targets,
            const Eigen::VectorXd& keep) {
  const Eigen::ArrayXd error = keep.array() * network.predict(rows).array() - targets.array();
  return error.square().mean();
}

struct NetSample {
  Eigen::MatrixXd rows = Eigen::MatrixXd(20, 2);
  Eigen::VectorXd targets = Eigen::VectorXd(20);

  NetSample() {
    NumpyRandom random(3);
    for (Eigen::Index i = 0; i < rows.rows(); ++i) {
      rows(i, 0) = random.normal();
      rows(i, 1) = random.normal();
      targets(i) = rows(i, 0) - 0.5 * rows(i, 1);
    }
  }
};

// (f(x + h) - f(x - h)) / 2h for every weight and bias.
TEST(Mlp, GradientAgreesWithFiniteDifferences) {
  NumpyRandom random(7);
  MlpNetwork network = MlpNetwork::random(3, {5, 4}, random);
  for (MlpLayer& layer : network.layers) {
    layer.bias.setConstant(0.1);
  }
  Eigen::MatrixXd rows(6, 3);
  for (double& value : rows.reshaped()) {
    value = random.normal();
  }
  const Eigen::VectorXd targets{{1, -1, 0.5, 2, 0, -2}};
  const Eigen::VectorXd keep{{1.25, 0, 1.25, 1.25, 0, 1.25}};
  const MlpNetwork gradient = mlp_gradient(network, rows, targets, keep);
  constexpr double kStep = 1e-6;
  std::size_t checked = 0;
  const auto check = [&](double& parameter, double expected) {
    ++checked;
    const double at = parameter;
    parameter = at + kStep;
    const double above = loss(network, rows, targets, keep);
    parameter = at - kStep;
    const double below = loss(network, rows, targets, keep);
    parameter = at;
    EXPECT_NEAR((above - below) / (2.0 * kStep), expected, 1e-7);
  };
  for (std::size_t index = 0; index < network.layers.size(); ++index) {
    MlpLayer& layer = network.layers[index];
    for (Eigen::Index i = 0; i < layer.weights.size(); ++i) {
      check(layer.weights.reshaped()(i), gradient.layers[index].weights.reshaped()(i));
    }
    for (Eigen::Index i = 0; i < layer.bias.size(); ++i) {
      check(layer.bias(i), gradient.layers[index].bias(i));
    }
  }
  EXPECT_EQ(checked, 3U * 5 + 5 + 5 * 4 + 4 + 4 + 1);
}

// ReLU between the layers, none at the end: -(max(0, 2 - 1) · 3) + 1 and -(max(0, -2 - 1) · 3) + 1.
TEST(Mlp, AgreesWithAHandComputation) {
  MlpNetwork network;
  network.layers.push_back(
      {.weights = Eigen::MatrixXd{{2.0}}, .bias = Eigen::RowVectorXd::Constant(1, -1.0)});
  network.layers.push_back(
      {.weights = Eigen::MatrixXd{{-3.0}}, .bias = Eigen::RowVectorXd::Constant(1, 1.0)});
  EXPECT_EQ(network.predict(Eigen::MatrixXd{{1}, {-1}}), (Eigen::VectorXd{{-2, 1}}));
}

TEST(Mlp, LearnsALineWithoutDropout) {
  const NetSample sample;
  MlpSettings settings;
  settings.hidden = {8};
  settings.learning_rate = 0.02;
  settings.output_dropout = 0.0;
  settings.validation_fraction = 0.0;
  const auto fitted = fit_mlp(sample.rows, sample.targets, settings, 1);
  EXPECT_LT((fitted->predict(sample.rows) - sample.targets).norm(), 0.2 * sample.targets.norm());
}

TEST(Mlp, DependsOnTheSeedOnly) {
  const NetSample sample;
  MlpSettings settings;
  settings.hidden = {8, 4};
  settings.epochs = 5;
  const auto predictions = [&](std::uint32_t seed) {
    return fit_mlp(sample.rows, sample.targets, settings, seed)->predict(sample.rows);
  };
  EXPECT_EQ(predictions(1), predictions(1));
  EXPECT_NE(predictions(1), predictions(2));
}

// Held-out targets contradict the others, so that their error grows from some epoch on.
TEST(Mlp, StopsWhenTheValidationErrorGrows) {
  NetSample sample;
  sample.targets.tail(4) *= -10.0;
  MlpSettings settings;
  settings.hidden = {8};
  settings.learning_rate = 0.05;
  settings.output_dropout = 0.0;
  settings.patience = 1;
  const auto predictions = [&](std::size_t epochs) {
    settings.epochs = epochs;
    return fit_mlp(sample.rows, sample.targets, settings, 1)->predict(sample.rows);
  };
  EXPECT_EQ(predictions(100), predictions(200));
  EXPECT_NE(predictions(1), predictions(200));
}

// A dropout of everything leaves nothing to learn from.
TEST(Mlp, DropsTheOutputInTraining) {
  const NetSample sample;
  MlpSettings settings;
  settings.hidden = {8};
  settings.output_dropout = 1.0;
  settings.epochs = 1;
  const Eigen::VectorXd once =
      fit_mlp(sample.rows, sample.targets, settings, 1)->predict(sample.rows);
  settings.epochs = 50;
  EXPECT_EQ(fit_mlp(sample.rows, sample.targets, settings, 1)->predict(sample.rows), once);
}

}  // namespace
}  // namespace carpool::learn
