#include "estimate/replay/tape.hpp"

namespace carpool::estimate {

Tape::Tape(const MachineFacts& machine)
    : cublas_workspace_(machine.cublas_workspace), matmul_transient_(machine.matmul_transient) {
  constexpr std::size_t kUsual = 4096;
  tensors_.reserve(kUsual);
  nodes_.reserve(kUsual);
  inputs_.reserve(kUsual);
  saved_.reserve(kUsual);
  gradients_.reserve(kUsual);
  parameters_.reserve(kUsual);
}

TensorId Tape::borrowed(std::int64_t elements, unsigned bytes) {
  tensors_.push_back(
      {.elements = elements, .references = 1, .bytes = static_cast<std::uint8_t>(bytes)});
  return static_cast<TensorId>(tensors_.size() - 1);
}

void Tape::try_out(std::int64_t bytes) {
  if (bytes != kNoTrial) {
    transient(bytes);
    allocator_.give_back();
  }
}

void Tape::forward_matmul() {
  if (!forward_workspace_) {
    forward_workspace_ = true;
    permanent(cublas_workspace_, MemoryPurpose::Workspace);
  }
  transient(matmul_transient_);
}

Tape::Node Tape::new_node(TensorId out) const {
  return {.out = out,
          .inputs = static_cast<std::uint32_t>(inputs_.size()),
          .saved = static_cast<std::uint32_t>(saved_.size()),
          .parameters = static_cast<std::uint32_t>(gradients_.size())};
}

void Tape::node(TensorId out,
                std::initializer_list<TensorId> inputs,
                std::span<const TensorId> saved,
                std::span<const ParameterId> parameters,
                const NodeTraits& traits) {
  tensors_[out].needs_gradient = false;
  if (!recording_) {
    return;
  }
  Node node = new_node(out);
  node.traits = traits;
  for (const TensorId input : inputs) {
    if (tensors_[input].needs_gradient) {
      inputs_.push_back(input);
    }
  }
  for (const ParameterId parameter : parameters) {
    if (parameters_[parameter].trained) {
      gradients_.push_back(parameter);
    }
  }
  if (inputs_.size() == node.inputs && gradients_.size() == node.parameters) {
    return;  // nothing below it is trained
  }
  tensors_[out].needs_gradient = true;
  for (const TensorId kept : saved) {
    if (kept != kNoTensor) {
      hold(kept);
      saved_.push_back(kept);
    }
  }
  nodes_.push_back(node);
}

void Tape::in_place_node(TensorId tensor, TensorId saved) {
  Node node = new_node(tensor);
  inputs_.push_back(tensor);
  hold(saved);
  saved_.push_back(saved);
  nodes_.push_back(node);
}

void Tape::keep(TensorId tensor, std::int64_t bytes) {
  Node node = new_node(tensor);
  node.traits.passes_gradient = true;
  inputs_.push_back(tensor);
  saved_.push_back(make(bytes, 1, MemoryPurpose::Activations));
  nodes_.push_back(node);
}

void Tape::checkpoint(TensorId out, TensorId input, std::size_t segment) {
  if (!needs_gradient(input)) {
    leaves_.push_back(input);
  }
  set_needs_gradient(out);
  set_needs_gradient(input);
  Node node = new_node(out);
  node.segment = static_cast<std::uint32_t>(segment);
  hold(input);
  saved_.push_back(input);
  nodes_.push_back(node);
}

std::int64_t Tape::saved_bytes() {
  std::int64_t sum = 0;
  for (const TensorId id : saved_) {
    if (Tensor& tensor = tensors_[id]; !tensor.counted) {
      tensor.counted = true;
      sum = plus(sum, times(tensor.elements, tensor.bytes));
    }
  }
  for (const TensorId id : saved_) {
    tensors_[id].counted = false;
  }
  return sum;
}

void Tape::drop_nodes() {
  for (const TensorId id : saved_) {
    drop(id);
  }
  nodes_.clear();
  inputs_.clear();
  saved_.clear();
  gradients_.clear();
}

ParameterId Tape::add_parameter(const TapeParameter& parameter) {
  parameters_.push_back(parameter);
  return static_cast<ParameterId>(parameters_.size() - 1);
}

void Tape::zero_gradients() {
  for (TapeParameter& parameter : parameters_) {
    allocator_.release(std::exchange(parameter.gradient, CachingAllocator::kNone));
  }
}

TensorId Tape::autocast(ParameterId id) {
  if (parameters_[id].frozen) {
    return make(parameters_[id].elements, 2, MemoryPurpose::Weights);
  }
  if (parameters_[id].cast == kNoTensor) {
    parameters_[id].cast = make(parameters_[id].elements, 2, MemoryPurpose::Weights);
    cast_.push_back(id);
  }
  hold(parameters_[id].cast);
  return parameters_[id].cast;
}

void Tape::end_autocast() {
  for (const ParameterId id : cast_) {
    drop(parameters_[id].cast);
    parameters_[id].cast = kNoTensor;
  }
  cast_.clear();
}

}  // namespace carpool::estimate
