// Models as a sequence of layers: multilayer perceptrons, plain convolutional nets, and lists of
// leaf modules, whose connections (gates, attention, concatenations) are inferred from sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/described_job.hpp"
#include "estimate/cudnn/convolution_geometry.hpp"
#include "estimate/cudnn/convolution_workspace.hpp"
#include "estimate/replay/training_run.hpp"

namespace carpool::estimate {

struct SequenceStep {
  enum class Kind : std::uint8_t {
    Linear,
    Convolution,
    BatchNorm,
    LayerNorm,
    OverwriteInput,   // keeps its result
    OverwriteByCopy,  // keeps a copy of its input
    KeepOutput,
    KeepInput,
    KeepInputOnce,
    Dropout,
    MaxPool,
    Pool,
    RememberAndPool,  // a Gate scales what is pooled here
    Gate,             // scales the remembered tensor by the current one
    Attention,        // on the queries, keys and values in the current tensor
    KeepBytes,        // keeps bytes, makes no tensor
    Copy,
  };
  Kind kind = Kind::Copy;
  bool layer = true;       // a layer of the list, not inferred between two
  std::uint8_t bytes = 0;  // element size of the output; 0: by rule
  std::uint8_t parameter_count = 0;
  ParameterId first_parameter = 0;
  std::int64_t per_sample = 0;  // elements of the output
  std::int64_t fixed = 0;       // elements that do not grow with the batch
  std::int64_t channels = 0;    // of a norm
  std::size_t geometry = 0;     // of a convolution: index in LayerSequence::convolutions
};

// Steps [begin, end).
struct SequenceSegment {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct LayerSequence {
  std::vector<ParameterSpec> parameters{};
  std::vector<SequenceStep> steps{};
  std::vector<std::size_t> cuts{};  // steps where a checkpointed segment may begin
  std::int64_t input_per_sample = 0;
  std::vector<ConvolutionGeometry> convolutions{};
  std::size_t unknown_layers = 0;  // of no known type
  double unseen_parameters = 0.0;  // share of the parameters that no layer owns
};

[[nodiscard]] LayerSequence sequence_of(const MlpShape& shape);
[[nodiscard]] LayerSequence sequence_of(const CnnShape& shape);
// The element sizes of the list hold where its precision is that of the setup.
[[nodiscard]] LayerSequence sequence_of(const LayerList& list, const TrainingSetup& setup);

class SequenceModel final : public ForwardModel {
 public:
  SequenceModel(LayerSequence sequence, const TrainingSetup& setup, const ReplaySettings& settings);

  [[nodiscard]] std::span<const ParameterSpec> parameters() const override {
    return sequence_.parameters;
  }
  [[nodiscard]] std::int64_t input_elements(std::int64_t batch) const override {
    return times(sequence_.input_per_sample, batch);
  }
  [[nodiscard]] std::int64_t index_bytes(std::int64_t batch) const override {
    return times(batch, 8);
  }
  [[nodiscard]] LossTraits loss() const override { return {}; }
  [[nodiscard]] TensorId forward(Tape& tape, TensorId input, std::int64_t batch) override;
  [[nodiscard]] TensorId forward_segment(Tape& tape, std::size_t segment, TensorId input) override;
  void keep_more(std::int64_t bytes) override;

 private:
  // The tensors that pass from one step to the next.
  struct Flow {
    TensorId current = kNoTensor;
    TensorId remembered = kNoTensor;
  };

  [[nodiscard]] TensorId run(Tape& tape, TensorId input, const SequenceSegment& segment);
  void take(Tape& tape, const SequenceStep& step, Flow& flow);
  void take_product(Tape& tape, const SequenceStep& step, Flow& flow);
  void take_norm(Tape& tape, const SequenceStep& step, Flow& flow);
  void take_simple(Tape& tape, const SequenceStep& step, Flow& flow);
  void take_in_place(Tape& tape, const SequenceStep& step, const Flow& flow) const;
  [[nodiscard]] std::int64_t elements(const SequenceStep& step) const {
    return times(step.per_sample, batch_) + step.fixed;
  }
  void plan();
  [[nodiscard]] double approximate_other_bytes() const;
  [[nodiscard]] ConvolutionWorkspace workspace(const SequenceStep& step) const;
  [[nodiscard]] ConvolutionWorkspace trial(const SequenceStep& step) const;

  LayerSequence sequence_;
  TrainingSetup setup_;
  NumberSizes sizes_;
  bool training_;
  ReplaySettings settings_;
  std::vector<PlannedWorkspace> planned_;  // of each distinct convolution, at batch_
  std::vector<std::size_t> kind_;          // index in planned_ of each convolution
  // Autotuning tries equal convolutions once: forward the first of them, backward the last.
  std::vector<bool> first_of_kind_;
  std::vector<bool> last_of_kind_;
  bool tries_forward_ = false;
  bool tries_backward_ = false;
  std::int64_t extra_a_layer_ = 0;  // bytes
  std::int64_t batch_ = 0;
  std::vector<SequenceSegment> segments_;  // empty: no checkpointing
  std::vector<ParameterId> ids_;           // of one step
  std::vector<TensorId> casts_;            // their 16-bit copies
};

}  // namespace carpool::estimate
