#include "estimate/published/gpumemnet.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "estimate/published/class_ensemble.hpp"

namespace carpool::estimate {
namespace {

constexpr int kClasses = 5;  // up to 2 GB, 3, 4, 5, more
constexpr std::uint32_t kSeed = 0;
constexpr std::size_t kEveryFifth = 5;

// In alphabetical order; the index is encoded in the features.
constexpr auto kActivations = std::to_array<std::string_view>({"ELU",
                                                               "GELU",
                                                               "Identity",
                                                               "LeakyReLU",
                                                               "Mish",
                                                               "PReLU",
                                                               "ReLU",
                                                               "SELU",
                                                               "SiLU",
                                                               "Softplus",
                                                               "Tanh"});

int class_of(std::int64_t bytes) {
  const double gigabytes =
      std::ceil(static_cast<double>(bytes) / static_cast<double>(kPublishedGigabyte));
  return std::clamp(static_cast<int>(gigabytes) - 2, 0, kClasses - 1);
}

// Unscaled: numbers of layers, batch, parameters, outputs of one sample, and the activation as a
// point on a half circle.
Eigen::RowVectorXd features_of(const MlpShape& shape, std::int64_t batch) {
  const auto hidden = static_cast<double>(shape.widths.size());
  const double norm = shape.batch_norm ? 1.0 : 0.0;
  const double drop = shape.dropout ? 1.0 : 0.0;
  const double act = shape.activation == "Identity" ? 0.0 : 1.0;
  double parameters = 0.0;
  double outputs = 0.0;
  auto width = static_cast<double>(shape.inputs);
  for (const std::int64_t next : shape.widths) {
    const auto out = static_cast<double>(next);
    parameters += (width + 1.0 + 2.0 * norm) * out;
    outputs += (1.0 + norm + act + drop) * out;
    width = out;
  }
  const auto classes = static_cast<double>(shape.classes);
  parameters += (width + 1.0) * classes;
  outputs += (shape.last.empty() ? 1.0 : 2.0) * classes;
  const auto* const found = std::ranges::find(kActivations, shape.activation);
  const double angle = std::numbers::pi * static_cast<double>(found - kActivations.begin()) /
                       static_cast<double>(kActivations.size());
  Eigen::RowVectorXd row(8);
  row << hidden + 1.0, static_cast<double>(batch), parameters, outputs, norm * hidden,
      drop * hidden, std::sin(angle), std::cos(angle);
  return row;
}

ClassRows class_rows(const std::vector<const MeasuredJob*>& rows) {
  std::vector<Eigen::RowVectorXd> inputs;
  ClassRows out;
  for (const MeasuredJob* row : rows) {
    const auto* shape = std::get_if<MlpShape>(&row->job.model.shape);
    if (shape != nullptr && row->finished && row->job.setup.mode == RunMode::Train) {
      inputs.push_back(features_of(*shape, row->job.setup.batch));
      out.classes.push_back(class_of(row->truth()));
    }
  }
  out.inputs.resize(static_cast<Eigen::Index>(inputs.size()), 8);
  for (std::size_t index = 0; index < inputs.size(); ++index) {
    out.inputs.row(static_cast<Eigen::Index>(index)) = inputs[index];
  }
  return out;
}

class GpuMemNetMlp final : public MemoryEstimator {
 public:
  explicit GpuMemNetMlp(ClassEnsemble ensemble) : ensemble_(std::move(ensemble)) {}

  [[nodiscard]] std::string_view name() const override { return "gpumemnet-mlp"; }

  [[nodiscard]] Result<MemoryEstimate> estimate(const DescribedJob& job) const override {
    const auto* shape = std::get_if<MlpShape>(&job.model.shape);
    if (shape == nullptr || job.setup.mode != RunMode::Train) {
      return fail(ErrorCode::Unsupported,
                  "GPUMemNet's MLP ensemble supports the training of fully connected nets only");
    }
    const int chosen = ensemble_.predict(features_of(*shape, job.setup.batch));
    const std::int64_t edge = (chosen + 2) * kPublishedGigabyte;
    return MemoryEstimate{
        .expected = edge, .upper = edge, .basis = "class", .breakdown = {.allocator_slack = edge}};
  }

 private:
  ClassEnsemble ensemble_;
};

}  // namespace

Result<std::unique_ptr<MemoryEstimator>> fit_gpumemnet_mlp(const EstimatorTraining& training) {
  std::vector<const MeasuredJob*> rows = training.rows;
  std::vector<const MeasuredJob*> validation = training.calibration;
  if (validation.empty()) {
    rows.clear();
    for (std::size_t index = 0; index < training.rows.size(); ++index) {
      (index % kEveryFifth == 0 ? validation : rows).push_back(training.rows[index]);
    }
  }
  const ClassRows train = class_rows(rows);
  const ClassRows held_out = class_rows(validation);
  constexpr std::size_t kLeastRows = 100;
  if (train.classes.size() < kLeastRows || held_out.classes.empty()) {
    return fail(ErrorCode::Unsupported,
                "GPUMemNet's MLP ensemble needs at least 100 trainings of fully connected nets");
  }
  return std::make_unique<GpuMemNetMlp>(
      ClassEnsemble::train(train, held_out, kClasses, EnsembleSettings{}, kSeed));
}

}  // namespace carpool::estimate
