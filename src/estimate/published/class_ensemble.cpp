#include "estimate/published/class_ensemble.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace carpool::estimate {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::RowVectorXd;

constexpr double kNormEpsilon = 1e-5;
constexpr double kNormMomentum = 0.1;  // of the running statistics

// Log-probabilities of each row.
MatrixXd log_softmax(const MatrixXd& logits) {
  const MatrixXd shifted = logits.colwise() - logits.rowwise().maxCoeff();
  const Eigen::VectorXd sums = shifted.array().exp().rowwise().sum().log();
  return shifted.colwise() - sums;
}

}  // namespace

MatrixXd ClassEnsemble::forward(Net& net, const MatrixXd& inputs, std::vector<Trace>& traces) {
  MatrixXd signal = inputs;
  const auto rows = static_cast<double>(inputs.rows());
  for (std::size_t index = 0; index + 1 < net.layers.size(); ++index) {
    const Layer& layer = net.layers[index];
    const MatrixXd linear = (signal * layer.weights).rowwise() + layer.bias;
    const RowVectorXd mean = linear.colwise().mean();
    const MatrixXd centred = linear.rowwise() - mean;
    const RowVectorXd variance = centred.array().square().colwise().mean();
    Statistics& running = net.statistics[index];
    running.mean = (1.0 - kNormMomentum) * running.mean + kNormMomentum * mean;
    running.variance =
        (1.0 - kNormMomentum) * running.variance + kNormMomentum * variance * (rows / (rows - 1.0));
    Trace trace;
    trace.input = std::move(signal);
    trace.inverse = (variance.array() + kNormEpsilon).rsqrt();
    trace.normal = centred.array().rowwise() * trace.inverse.array();
    trace.activated =
        (trace.normal.array().rowwise() * layer.scale.array()).rowwise() + layer.shift.array();
    signal = trace.activated.cwiseMax(0.0);
    traces.push_back(std::move(trace));
  }
  Trace last;
  last.input = std::move(signal);
  MatrixXd out = (last.input * net.layers.back().weights).rowwise() + net.layers.back().bias;
  traces.push_back(std::move(last));
  return out;
}

ClassEnsemble::Net ClassEnsemble::backward(const Net& net,
                                           const std::vector<Trace>& traces,
                                           const MatrixXd& delta) {
  Net gradient;
  gradient.layers.resize(net.layers.size());
  Layer& last = gradient.layers.back();
  last.weights = traces.back().input.transpose() * delta;
  last.bias = delta.colwise().sum();
  MatrixXd signal = delta * net.layers.back().weights.transpose();
  for (std::size_t index = net.layers.size() - 1; index-- > 0;) {
    const Trace& trace = traces[index];
    const Layer& layer = net.layers[index];
    Layer& slope = gradient.layers[index];
    const MatrixXd active = (trace.activated.array() > 0.0).select(signal, 0.0);
    slope.scale = (active.array() * trace.normal.array()).colwise().sum();
    slope.shift = active.colwise().sum();
    const MatrixXd scaled = active.array().rowwise() * layer.scale.array();
    const RowVectorXd mean = scaled.colwise().mean();
    const RowVectorXd projected = (scaled.array() * trace.normal.array()).colwise().mean();
    MatrixXd linear = scaled.rowwise() - mean;
    linear.array() -= trace.normal.array().rowwise() * projected.array();
    linear.array().rowwise() *= trace.inverse.array();
    slope.weights = trace.input.transpose() * linear;
    slope.bias = linear.colwise().sum();
    signal = linear * layer.weights.transpose();
  }
  return gradient;
}

void ClassEnsemble::train_batch(const MatrixXd& inputs,
                                const std::vector<int>& classes,
                                learn::Adam& adam) {
  std::vector<std::vector<Trace>> traces(nets_.size());
  MatrixXd mean;
  for (std::size_t net = 0; net < nets_.size(); ++net) {
    const MatrixXd out = forward(nets_[net], inputs, traces[net]);
    mean = net == 0 ? out : MatrixXd(mean + out);
  }
  mean /= static_cast<double>(nets_.size());
  MatrixXd delta = log_softmax(mean).array().exp();
  for (Index row = 0; row < delta.rows(); ++row) {
    delta(row, classes[static_cast<std::size_t>(row)]) -= 1.0;
  }
  delta /= static_cast<double>(inputs.rows()) * static_cast<double>(nets_.size());
  adam.begin_step();
  for (std::size_t net = 0; net < nets_.size(); ++net) {
    const Net gradient = backward(nets_[net], traces[net], delta);
    for (std::size_t index = 0; index < gradient.layers.size(); ++index) {
      Layer& layer = nets_[net].layers[index];
      const Layer& slope = gradient.layers[index];
      adam.update(layer.weights, slope.weights);
      adam.update(layer.bias, slope.bias);
      adam.update(layer.scale, slope.scale);
      adam.update(layer.shift, slope.shift);
    }
  }
}

MatrixXd ClassEnsemble::logits(const MatrixXd& inputs) const {
  MatrixXd mean;
  for (const Net& net : nets_) {
    MatrixXd signal = inputs;
    for (std::size_t index = 0; index + 1 < net.layers.size(); ++index) {
      const Layer& layer = net.layers[index];
      const Statistics& known = net.statistics[index];
      const RowVectorXd factor =
          layer.scale.array() * (known.variance.array() + kNormEpsilon).rsqrt();
      const MatrixXd linear =
          ((signal * layer.weights).rowwise() + layer.bias).rowwise() - known.mean;
      signal = ((linear.array().rowwise() * factor.array()).rowwise() + layer.shift.array())
                   .cwiseMax(0.0);
    }
    const MatrixXd out = (signal * net.layers.back().weights).rowwise() + net.layers.back().bias;
    mean = mean.size() == 0 ? out : MatrixXd(mean + out);
  }
  return mean / static_cast<double>(nets_.size());
}

double ClassEnsemble::loss(const ClassRows& rows) const {
  const MatrixXd probabilities = log_softmax(logits(rows.inputs));
  double sum = 0.0;
  for (Index row = 0; row < probabilities.rows(); ++row) {
    sum -= probabilities(row, rows.classes[static_cast<std::size_t>(row)]);
  }
  return sum / static_cast<double>(probabilities.rows());
}

int ClassEnsemble::predict(const RowVectorXd& row) const {
  Index best = 0;
  logits(row).row(0).maxCoeff(&best);
  return static_cast<int>(best);
}

std::size_t ClassEnsemble::parameters() const {
  Index count = 0;
  for (const Net& net : nets_) {
    for (const Layer& layer : net.layers) {
      count += layer.weights.size() + layer.bias.size() + layer.scale.size() + layer.shift.size();
    }
  }
  return static_cast<std::size_t>(count);
}

// PyTorch's initialisation of a linear layer: uniform within ±1 / sqrt(inputs).
ClassEnsemble::Layer ClassEnsemble::draw_layer(Index inputs, Index outputs, NumpyRandom& random) {
  const double limit = 1.0 / std::sqrt(static_cast<double>(inputs));
  const auto uniform = [&](double /*unused*/) { return limit * (2.0 * random.uniform() - 1.0); };
  Layer layer;
  layer.weights = MatrixXd::Zero(inputs, outputs).unaryExpr(uniform);
  layer.bias = RowVectorXd::Zero(outputs).unaryExpr(uniform);
  return layer;
}

ClassEnsemble::Net ClassEnsemble::draw_net(std::size_t depth,
                                           Index inputs,
                                           Index classes,
                                           const EnsembleSettings& settings,
                                           NumpyRandom& random) {
  Net net;
  for (std::size_t index = 0; index < depth; ++index) {
    const Index outputs = index == 0 ? settings.first_width : settings.width;
    net.layers.push_back(draw_layer(inputs, outputs, random));
    net.layers.back().scale = RowVectorXd::Ones(outputs);
    net.layers.back().shift = RowVectorXd::Zero(outputs);
    net.statistics.push_back({RowVectorXd::Zero(outputs), RowVectorXd::Ones(outputs)});
    inputs = outputs;
  }
  net.layers.push_back(draw_layer(inputs, classes, random));
  return net;
}

void ClassEnsemble::train_epoch(const ClassRows& rows,
                                std::size_t batch,
                                learn::Adam& adam,
                                NumpyRandom& random) {
  const auto order = random.permutation(rows.classes.size());
  for (std::size_t begin = 0; begin + 1 < order.size(); begin += batch) {
    const std::size_t end = std::min(order.size(), begin + batch);
    MatrixXd inputs(static_cast<Index>(end - begin), rows.inputs.cols());
    std::vector<int> labels;
    labels.reserve(end - begin);
    for (std::size_t at = begin; at < end; ++at) {
      inputs.row(static_cast<Index>(at - begin)) = rows.inputs.row(static_cast<Index>(order[at]));
      labels.push_back(rows.classes[order[at]]);
    }
    if (labels.size() > 1) {  // the variance of one row is undefined
      train_batch(inputs, labels, adam);
    }
  }
}

ClassEnsemble ClassEnsemble::train(const ClassRows& rows,
                                   const ClassRows& validation,
                                   int classes,
                                   const EnsembleSettings& settings,
                                   std::uint32_t seed) {
  NumpyRandom random(seed);
  ClassEnsemble ensemble;
  learn::Adam adam(learn::Adam::Variant::PyTorch, settings.learning_rate);
  for (std::size_t number = 0; number < settings.of_each * settings.depths; ++number) {
    ensemble.nets_.push_back(
        draw_net(number % settings.depths + 1, rows.inputs.cols(), classes, settings, random));
  }
  std::vector<Net> best = ensemble.nets_;
  double least = std::numeric_limits<double>::infinity();
  std::size_t since = 0;
  for (std::size_t epoch = 0; epoch < settings.epochs && since < settings.patience; ++epoch) {
    ensemble.train_epoch(rows, static_cast<std::size_t>(settings.batch), adam, random);
    ++since;
    if (const double now = ensemble.loss(validation); now < least - 1e-9) {
      least = now;
      best = ensemble.nets_;
      since = 0;
    }
  }
  ensemble.nets_ = std::move(best);
  return ensemble;
}

}  // namespace carpool::estimate
