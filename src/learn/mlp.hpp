// A small neural network, trained by Adam on the squared error with early stopping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "learn/mlp_network.hpp"
#include "learn/regressor.hpp"

namespace carpool::learn {

// The defaults are those of KACE-NN; the settings have the meaning of Keras.
struct MlpSettings {
  std::vector<Eigen::Index> hidden = {128, 64, 32};
  std::size_t epochs = 250;
  std::size_t batch = 32;
  double learning_rate = 1e-3;
  double output_dropout = 0.2;       // of the output, during training
  double validation_fraction = 0.2;  // the last rows, not trained on
  std::size_t patience = 40;         // epochs without a better validation error
};

class MlpRegressor final : public Regressor {
 public:
  explicit MlpRegressor(MlpNetwork network);

  [[nodiscard]] std::string_view kind() const override { return kKind; }
  [[nodiscard]] Eigen::Index inputs() const override { return network_.layers[0].weights.rows(); }
  [[nodiscard]] Eigen::VectorXd predict(const Eigen::MatrixXd& rows) const override;
  [[nodiscard]] nlohmann::json to_json() const override;
  [[nodiscard]] static Result<std::unique_ptr<Regressor>> from_json(const nlohmann::json& stored);

  static constexpr std::string_view kKind = "mlp";

 private:
  MlpNetwork network_;
};

// Returns the network of the last epoch, not the best one, as the published procedure does.
[[nodiscard]] std::unique_ptr<Regressor> fit_mlp(const Eigen::MatrixXd& rows,
                                                 const Eigen::VectorXd& targets,
                                                 const MlpSettings& settings,
                                                 std::uint32_t seed);

}  // namespace carpool::learn
