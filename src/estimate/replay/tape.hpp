// Eager autograd with the arithmetic left out: tensors with reference counts on a replayed caching
// allocator, and the nodes that backward walks. Who drives it says which operation makes which
// tensor and what autograd keeps of it; the tape knows when memory comes and goes.
//
// Backward takes the nodes in reverse order. For each: the cuBLAS workspace of the backward thread
// at its first matrix product; the node's own workspace; a gradient for every input that needs one
// (an alias of the incoming one where the operation passes it on; a second gradient of one tensor
// is added in place); gradients of its parameters in the type computed in; then what was saved is
// let go, then the incoming gradient; last, gradients of parameters are cast to the parameters'
// type.
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

// A tensor of the tape. Valid until the tape is told to forget it.
using TensorId = std::uint32_t;
inline constexpr TensorId kNoTensor = 0xFFFFFFFF;

struct TapeParameter {
  std::int64_t elements = 0;
  unsigned bytes = 4;  // of an element
  bool trained = true;
  bool frozen = false;  // never trained, whatever the mode: under an adapter
  CachingAllocator::Block gradient = CachingAllocator::kNone;
  TensorId cast = kNoTensor;  // its 16-bit copy under autocast
};

// Parameters are numbered in the order in which they were added.
using ParameterId = std::uint32_t;

inline constexpr std::int64_t kNoTrial = -1;

struct NodeTraits {
  std::int64_t workspace = 0;  // bytes, for the time of the backward operation
  // Bytes beside what is being made: the input's gradient, then those of the parameters.
  std::int64_t input_workspace = 0;
  std::int64_t parameter_workspace = 0;
  // Before these: what is tried out (see Tape::try_out).
  std::int64_t input_trial = kNoTrial;
  std::int64_t parameter_trial = kNoTrial;
  bool matmul = false;           // uses cuBLAS in backward
  bool passes_gradient = false;  // an input of the same size gets the incoming gradient itself
  unsigned gradient_bytes = 4;   // of an element of parameter gradients, before the cast
};

class Tape {
 public:
  explicit Tape(const MachineFacts& machine);

  // ---- tensors
  [[nodiscard]] TensorId tensor(std::int64_t elements, unsigned bytes, bool needs_gradient = true) {
    return make(elements, bytes, MemoryPurpose::Activations, needs_gradient);
  }
  // Memory that somebody else owns: the input of the loop.
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
  // Memory that no tensor stands for: there and gone, or there for good.
  void transient(std::int64_t bytes) {
    if (bytes > 0) {
      allocator_.touch(bytes, MemoryPurpose::Workspace);
    }
  }
  // Algorithms are tried in so many bytes, after which PyTorch gives all cached segments back.
  void try_out(std::int64_t bytes);
  void permanent(std::int64_t bytes, MemoryPurpose use) {
    static_cast<void>(allocator_.allocate(bytes, use));
  }
  // The memory of a tensor that has no other holder; from now on the caller's to release.
  [[nodiscard]] CachingAllocator::Block detach(TensorId id) {
    return std::exchange(tensors_[id].block, CachingAllocator::kNone);
  }
  // Tensors made after the mark are gone (dropped or detached); their numbers are used again.
  [[nodiscard]] std::size_t mark() const { return tensors_.size(); }
  void forget_since(std::size_t mark) { tensors_.resize(mark); }

  // ---- recording
  [[nodiscard]] bool recording() const { return recording_; }
  void set_recording(bool recording) { recording_ = recording; }
  void forward_matmul();
  // `out` was computed from `inputs`; backward needs `saved` and makes gradients for the inputs and
  // the trained ones of `parameters`.
  void node(TensorId out,
            std::initializer_list<TensorId> inputs,
            std::span<const TensorId> saved,
            std::span<const ParameterId> parameters,
            const NodeTraits& traits);
  // An operation that overwrote its input, which it keeps, or a copy of what the input was.
  void in_place_node(TensorId tensor, TensorId saved);
  // Bytes kept by an operation that has no tensor of its own.
  void keep(TensorId tensor, std::int64_t bytes);
  // A block whose inside is not recorded: backward runs it again by `forward_again`.
  void checkpoint(TensorId out, TensorId input, std::size_t segment);

  using ForwardAgain = std::function<TensorId(std::size_t segment, TensorId input)>;
  // From the loss on; empties the tape.
  void backward(TensorId loss, const ForwardAgain& forward_again);
  // Bytes that the nodes keep, each tensor once.
  [[nodiscard]] std::int64_t saved_bytes();
  // Lets go what the nodes keep: no backward follows.
  void drop_nodes();

  // ---- parameters
  ParameterId add_parameter(const TapeParameter& parameter);
  [[nodiscard]] const TapeParameter& parameter(ParameterId id) const { return parameters_[id]; }
  [[nodiscard]] std::span<const TapeParameter> parameters() const { return parameters_; }
  void zero_gradients();
  // The 16-bit copy of a 32-bit parameter, for the caller to drop. PyTorch keeps those of
  // parameters that require gradients from their first use to the end of the region, also in
  // inference.
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
  // What it refers to lies on top of the three stacks below, from these positions on.
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
  std::vector<CachingAllocator::Block> made_;  // those gradients, for the time of one node
  std::vector<TensorId> leaves_;               // get a gradient that nobody takes
  std::vector<TapeParameter> parameters_;
  std::vector<ParameterId> cast_;  // parameters with a 16-bit copy
};

}  // namespace carpool::estimate
