// Replays a few steps of a training or inference loop: weights are made, batches run forward and
// backward, the optimizer steps. The operations of the model are behind ForwardModel.
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

// How the loss function treats the output of the model.
struct LossTraits {
  bool copies_to_fp32 = true;    // a 16-bit output
  bool log_softmax_fp32 = true;  // else in the type of the (copied) output
};

class ForwardModel {
 public:
  virtual ~ForwardModel() = default;

  // In the order of the modules. The tape numbers those that are not buffers in this order.
  [[nodiscard]] virtual std::span<const ParameterSpec> parameters() const = 0;
  // Elements of a head that exists until it is tied to the embedding; 0: none.
  [[nodiscard]] virtual std::int64_t untied_head_elements() const { return 0; }
  [[nodiscard]] virtual std::int64_t input_elements(std::int64_t batch) const = 0;  // 0: indices
  [[nodiscard]] virtual std::int64_t index_bytes(std::int64_t batch) const = 0;  // labels, tokens
  [[nodiscard]] virtual LossTraits loss() const = 0;

  // Computes the output of a batch. `input` is kNoTensor where input_elements() is 0.
  [[nodiscard]] virtual TensorId forward(Tape& tape, TensorId input, std::int64_t batch) = 0;
  // Runs a checkpointed segment again, with autograd.
  [[nodiscard]] virtual TensorId forward_segment(Tape& tape,
                                                 std::size_t segment,
                                                 TensorId input) = 0;
  // Autograd keeps more bytes than the layers account for; from now on they are spread over the
  // layers.
  virtual void keep_more(std::int64_t /*bytes*/) {}
  // Releases what outlives an inference pass.
  virtual void end_inference(Tape& /*tape*/) {}
};

struct ReplaySettings {
  WorkspaceRequest workspaces{};  // of convolutions
  double workspace_factor = 1.0;  // on them
  std::int64_t steps = 2;
  bool with_weights = true;       // false: weights, optimizer and libraries need no memory
  std::int64_t traced_saved = 0;  // bytes that autograd keeps, from a trace; 0: by layers
};

struct ReplayResult {
  std::int64_t reserved = 0;   // peak, bytes
  std::int64_t allocated = 0;  // peak, bytes
  UseBytes uses{};             // at the peak of allocations
  std::int64_t saved = 0;      // kept for backward
  std::int64_t parameters = 0;
  std::int64_t weight_bytes = 0;
  bool overflowed = false;  // more than any GPU has
};

[[nodiscard]] ReplayResult run_training(ForwardModel& model,
                                        const DescribedJob& job,
                                        const ReplaySettings& settings);

}  // namespace carpool::estimate
