// A few steps of a training or inference loop, replayed: weights are made, batches go forward and
// back, the optimizer steps. What the model itself does stands behind ForwardModel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/described_job.hpp"
#include "estimate/cudnn/workspace_plan.hpp"
#include "estimate/replay/tape.hpp"

namespace carpool::estimate {

// Bytes of an element.
struct NumberSizes {
  unsigned parameter = 4;
  unsigned compute = 4;  // of matrix products and convolutions
  bool autocast = false;
};
[[nodiscard]] NumberSizes sizes_of(Precision precision);

enum class ParameterRole : std::uint8_t { Trained, Frozen, Buffer };

struct ParameterSpec {
  std::int64_t elements = 0;
  ParameterRole role = ParameterRole::Trained;
};

// How the loss treats the output of the model.
struct LossTraits {
  bool copies_to_fp32 = true;    // a 16-bit output
  bool log_softmax_fp32 = true;  // else as the (copied) output
};

class ForwardModel {
 public:
  virtual ~ForwardModel() = default;

  // In the order of the modules; the tape numbers trained and frozen ones in this order.
  [[nodiscard]] virtual std::span<const ParameterSpec> parameters() const = 0;
  // Elements of a head that existed until it was tied to the embedding; 0: none.
  [[nodiscard]] virtual std::int64_t untied_head_elements() const { return 0; }
  [[nodiscard]] virtual std::int64_t input_elements(std::int64_t batch) const = 0;  // 0: indices
  [[nodiscard]] virtual std::int64_t index_bytes(std::int64_t batch) const = 0;  // labels, tokens
  [[nodiscard]] virtual LossTraits loss() const = 0;

  // Makes the output of a batch. `input` is kNoTensor where input_elements() is 0.
  [[nodiscard]] virtual TensorId forward(Tape& tape, TensorId input, std::int64_t batch) = 0;
  // A checkpointed part of it once more, with autograd.
  [[nodiscard]] virtual TensorId forward_segment(Tape& tape,
                                                 std::size_t segment,
                                                 TensorId input) = 0;
  // Autograd keeps so many bytes more than the layers told: from now on, spread over them.
  virtual void keep_more(std::int64_t /*bytes*/) {}
  // After an inference pass: what outlived it is let go.
  virtual void end_inference(Tape& /*tape*/) {}
};

struct ReplaySettings {
  WorkspaceRequest workspaces{};  // of convolutions
  double workspace_factor = 1.0;  // on these
  std::int64_t steps = 2;
  bool with_weights = true;       // else weights, optimizer and libraries need nothing
  std::int64_t traced_saved = 0;  // bytes that autograd keeps, as traced; 0: as the layers tell
};

struct ReplayResult {
  std::int64_t reserved = 0;   // peak, bytes
  std::int64_t allocated = 0;  // peak, bytes
  UseBytes uses{};             // when the most was allocated
  std::int64_t saved = 0;      // kept for backward
  std::int64_t parameters = 0;
  std::int64_t weight_bytes = 0;
  bool overflowed = false;  // more than any GPU has
};

[[nodiscard]] ReplayResult run_training(ForwardModel& model,
                                        const DescribedJob& job,
                                        const ReplaySettings& settings);

}  // namespace carpool::estimate
