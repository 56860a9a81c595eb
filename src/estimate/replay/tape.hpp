// Eager autograd without the arithmetic: reference-counted tensors on a replayed caching allocator,
// and the nodes that backward visits. The caller states which operation makes which tensor and what
// autograd keeps of it; the tape allocates and releases the memory.
//
// Backward visits the nodes in reverse order. For each node it
//   1. allocates the cuBLAS workspace of the backward thread, at the first matrix product,
//   2. allocates and releases the node's own workspace,
//   3. makes a gradient for every input that needs one; an operation that passes the incoming
//      gradient on shares it, and a second gradient of a tensor is added in place,
//   4. makes the gradients of the parameters in the type that the node computes in,
//   5. releases what the node saved, then the incoming gradient,
//   6. casts the gradients of the parameters to the type of the parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "core/described_job.hpp"
#include "estimate/replay/caching_allocator.hpp"
#include "estimate/replay/checked_sizes.hpp"

namespace carpool::estimate {

// A tensor of the tape, valid until forget_since().
using TensorId = std::uint32_t;
inline constexpr TensorId kNoTensor = 0xFFFFFFFF;

struct TapeParameter {
  std::int64_t elements = 0;
  unsigned bytes = 4;  // of an element
  bool trained = true;
  bool frozen = false;  // not trained in any mode: below an adapter
  CachingAllocator::Block gradient = CachingAllocator::kNone;
  TensorId cast = kNoTensor;  // its 16-bit copy under autocast
};

// Parameters are numbered in the order in which they are added.
using ParameterId = std::uint32_t;

inline constexpr std::int64_t kNoTrial = -1;

struct NodeTraits {
  std::int64_t workspace = 0;  // bytes, during the backward operation
  // Bytes during the computation of the input's gradient and of the parameters' gradients.
  std::int64_t input_workspace = 0;
  std::int64_t parameter_workspace = 0;
  // Bytes that are tried out before these (see Tape::try_out).
  std::int64_t input_trial = kNoTrial;
  std::int64_t parameter_trial = kNoTrial;
  bool matmul = false;           // uses cuBLAS in backward
  bool passes_gradient = false;  // an input of the same size shares the incoming gradient
  unsigned gradient_bytes = 4;   // element size of parameter gradients before the cast
};

class Tape {
 public:
  explicit Tape(const MachineFacts& machine);

  // ---- tensors
  [[nodiscard]] TensorId tensor(std::int64_t elements, unsigned bytes, bool needs_gradient = true) {
    return make(elements, bytes, MemoryPurpose::Activations, needs_gradient);
  }
  // Memory that the caller owns: the input of the loop.
  [[nodiscard]] TensorId borrowed(std::int64_t elements, unsigned bytes);
  void hold(TensorId id) { ++tensors_[id].references; }
  void drop(TensorId id) {
    if (--tensors_[id].references == 0) {
      allocator_.release(detach(id));
    }
  }
  [[nodiscard]] std::int64_t elements(TensorId id) const { return tensors_[id].elements; }
  [[nodiscard]] unsigned bytes(TensorId id) const { return tensors_[id].bytes; }
  [[nodiscard]] bool needs_gradient(TensorId id) const { return tensors_[id].needs_gradient; }
  void set_needs_gradient(TensorId id) { tensors_[id].needs_gradient = true; }
  // Memory without a tensor, released at once.
  void transient(std::int64_t bytes) {
    if (bytes > 0) {
      allocator_.touch(bytes, MemoryPurpose::Workspace);
    }
  }
  // Autotuning: algorithms are tried with this workspace, after which PyTorch returns all cached
  // segments.
  void try_out(std::int64_t bytes);
  // Memory without a tensor, never released.
  void permanent(std::int64_t bytes, MemoryPurpose use) {
    static_cast<void>(allocator_.allocate(bytes, use));
  }
  // The memory of a tensor without other holders; the caller releases it.
  [[nodiscard]] CachingAllocator::Block detach(TensorId id) {
    return std::exchange(tensors_[id].block, CachingAllocator::kNone);
  }
  // Forgets tensors made after the mark, all of which were dropped or detached; their numbers are
  // used again.
  [[nodiscard]] std::size_t mark() const { return tensors_.size(); }
  void forget_since(std::size_t mark) { tensors_.resize(mark); }

  // ---- recording
  [[nodiscard]] bool recording() const { return recording_; }
  void set_recording(bool recording) { recording_ = recording; }
  void forward_matmul();
  // `out` is computed from `inputs`; backward needs `saved` and makes gradients for the inputs and
  // the trained parameters.
  void node(TensorId out,
            std::initializer_list<TensorId> inputs,
            std::span<const TensorId> saved,
            std::span<const ParameterId> parameters,
            const NodeTraits& traits);
  // An operation that overwrites its input and keeps the result or a copy of the input (`saved`).
  void in_place_node(TensorId tensor, TensorId saved);
  // An operation that keeps bytes without a tensor of its own.
  void keep(TensorId tensor, std::int64_t bytes);
  // A block whose inside is not recorded; backward runs it again with `forward_again`.
  void checkpoint(TensorId out, TensorId input, std::size_t segment);

  using ForwardAgain = std::function<TensorId(std::size_t segment, TensorId input)>;
  // Runs backward from the loss and empties the tape.
  void backward(TensorId loss, const ForwardAgain& forward_again);
  // Bytes that the nodes keep, each tensor counted once.
  [[nodiscard]] std::int64_t saved_bytes();
  // Releases what the nodes keep, where no backward follows.
  void drop_nodes();

  // ---- parameters
  ParameterId add_parameter(const TapeParameter& parameter);
  [[nodiscard]] const TapeParameter& parameter(ParameterId id) const { return parameters_[id]; }
  [[nodiscard]] std::span<const TapeParameter> parameters() const { return parameters_; }
  void zero_gradients();
  // The 16-bit copy of a 32-bit parameter; the caller drops it. PyTorch keeps the copies of
  // parameters that require gradients from their first use to the end of the autocast region, also
  // in inference.
  [[nodiscard]] TensorId autocast(ParameterId id);
  void end_autocast();

  [[nodiscard]] CachingAllocator& allocator() { return allocator_; }
  [[nodiscard]] const CachingAllocator& allocator() const { return allocator_; }

 private:
  struct Tensor {
    std::int64_t elements = 0;
    CachingAllocator::Block block = CachingAllocator::kNone;
    std::uint32_t references = 0;
    TensorId gradient = kNoTensor;
    std::uint8_t bytes = 4;
    bool needs_gradient = false;
    bool counted = false;  // by saved_bytes()
  };
  static constexpr std::uint32_t kNoSegment = 0xFFFFFFFF;
  // Its inputs, saved tensors and parameters are on the stacks below, from these positions on.
  struct Node {
    TensorId out = kNoTensor;
    std::uint32_t inputs = 0;
    std::uint32_t saved = 0;
    std::uint32_t parameters = 0;
    std::uint32_t segment = kNoSegment;
    NodeTraits traits{};
  };

  [[nodiscard]] TensorId make(std::int64_t elements,
                              unsigned bytes,
                              MemoryPurpose use,
                              bool needs_gradient = false) {
    tensors_.push_back({.elements = elements,
                        .block = allocator_.allocate(times(elements, bytes), use),
                        .references = 1,
                        .bytes = static_cast<std::uint8_t>(bytes),
                        .needs_gradient = needs_gradient});
    return static_cast<TensorId>(tensors_.size() - 1);
  }
  [[nodiscard]] TensorId take_gradient(TensorId id);
  void give_gradient(TensorId to, TensorId gradient);
  [[nodiscard]] Node new_node(TensorId out) const;
  void walk_back(std::size_t until, const ForwardAgain& forward_again);
  void run_back(const Node& node, TensorId incoming);
  void run_again(const Node& node, TensorId incoming, const ForwardAgain& forward_again);
  void keep_parameter_gradients(const Node& node);
  void release_saved(const Node& node);

  CachingAllocator allocator_;
  std::int64_t cublas_workspace_;
  std::int64_t matmul_transient_;
  bool forward_workspace_ = false;
  bool backward_workspace_ = false;
  bool recording_ = true;
  std::vector<Tensor> tensors_;
  std::vector<Node> nodes_;
  std::vector<TensorId> inputs_;
  std::vector<TensorId> saved_;
  std::vector<ParameterId> gradients_;         // parameters that a node makes gradients for
  std::vector<CachingAllocator::Block> made_;  // those gradients, during one node
  std::vector<TensorId> leaves_;               // receive a gradient that is dropped
  std::vector<TapeParameter> parameters_;
  std::vector<ParameterId> cast_;  // parameters with a 16-bit copy
};

}  // namespace carpool::estimate
