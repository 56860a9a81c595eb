// The published classifier of GPUMemNet: small nets of depth 1 to 7 (widths 8, 4, 4, …; linear,
// batch norm, ReLU) with averaged logits, trained together on the cross entropy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <Eigen/Core>

#include "base/numpy_random.hpp"
#include "learn/adam.hpp"

namespace carpool::estimate {

struct EnsembleSettings {
  std::size_t depths = 7;   // one net of each depth up to this
  std::size_t of_each = 2;  // nets of each depth
  Eigen::Index first_width = 8;
  Eigen::Index width = 4;
  std::size_t epochs = 600;
  Eigen::Index batch = 128;
  double learning_rate = 1e-3;  // of Adam
  std::size_t patience = 30;    // epochs without a smaller validation loss; the best nets are kept
};

struct ClassRows {
  Eigen::MatrixXd inputs;
  std::vector<int> classes;
};

class ClassEnsemble {
 public:
  // All classes must be below `classes`.
  [[nodiscard]] static ClassEnsemble train(const ClassRows& rows,
                                           const ClassRows& validation,
                                           int classes,
                                           const EnsembleSettings& settings,
                                           std::uint32_t seed);

  // The class of one row of inputs.
  [[nodiscard]] int predict(const Eigen::RowVectorXd& row) const;
  [[nodiscard]] std::size_t parameters() const;

 private:
  struct Layer {
    Eigen::MatrixXd weights;
    Eigen::RowVectorXd bias;
    Eigen::RowVectorXd scale;  // of the batch norm; empty in the last layer
    Eigen::RowVectorXd shift;
  };
  struct Statistics {
    Eigen::RowVectorXd mean;
    Eigen::RowVectorXd variance;
  };
  struct Net {
    std::vector<Layer> layers;
    std::vector<Statistics> statistics;
  };
  // Intermediate results of one layer in a forward pass.
  struct Trace {
    Eigen::MatrixXd input;
    Eigen::MatrixXd normal;      // normalised by the batch norm
    Eigen::RowVectorXd inverse;  // 1 / deviation
    Eigen::MatrixXd activated;   // before ReLU
  };

  [[nodiscard]] Eigen::MatrixXd logits(const Eigen::MatrixXd& inputs) const;
  [[nodiscard]] static Eigen::MatrixXd forward(Net& net,
                                               const Eigen::MatrixXd& inputs,
                                               std::vector<Trace>& traces);
  [[nodiscard]] static Net backward(const Net& net,
                                    const std::vector<Trace>& traces,
                                    const Eigen::MatrixXd& delta);
  void train_batch(const Eigen::MatrixXd& inputs,
                   const std::vector<int>& classes,
                   learn::Adam& adam);
  void train_epoch(const ClassRows& rows,
                   std::size_t batch,
                   learn::Adam& adam,
                   NumpyRandom& random);
  [[nodiscard]] double loss(const ClassRows& rows) const;
  [[nodiscard]] static Layer draw_layer(Eigen::Index inputs,
                                        Eigen::Index outputs,
                                        NumpyRandom& random);
  [[nodiscard]] static Net draw_net(std::size_t depth,
                                    Eigen::Index inputs,
                                    Eigen::Index classes,
                                    const EnsembleSettings& settings,
                                    NumpyRandom& random);

  std::vector<Net> nets_;
};

}  // namespace carpool::estimate
