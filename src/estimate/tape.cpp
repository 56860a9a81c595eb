#include "estimate/tape.hpp"

#include <algorithm>
#include <utility>

namespace carpool {

namespace {

constexpr std::int64_t kMostSize = std::int64_t{1} << 48;

}  // namespace

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMostSize : std::min(product, kMostSize);
}

std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kMostSize : std::min(sum, kMostSize);
}

Tape::Tape(const MachineFacts& machine)
    : cublas_workspace_(machine.cublas_workspace), matmul_transient_(machine.matmul_transient) {
  constexpr std::size_t kUsual = 4096;
  tensors_.reserve(kUsual);
  nodes_.reserve(kUsual);
  inputs_.reserve(kUsual);
  saved_.reserve(kUsual);
  gradients_.reserve(kUsual);
}

TensorId Tape::make(std::int64_t elements, unsigned bytes, MemoryPurpose use) {
  tensors_.push_back({.elements = elements,
                      .block = allocator_.allocate(times(elements, bytes), use),
                      .references = 1,
                      .bytes = static_cast<std::uint8_t>(bytes)});
  return static_cast<TensorId>(tensors_.size() - 1);
}

TensorId Tape::tensor(std::int64_t elements, unsigned bytes, bool needs_gradient) {
  const TensorId id = make(elements, bytes, MemoryPurpose::Activations);
  tensors_[id].needs_gradient = needs_gradient;
  return id;
}

TensorId Tape::borrowed(std::int64_t elements, unsigned bytes) {
  tensors_.push_back(
      {.elements = elements, .references = 1, .bytes = static_cast<std::uint8_t>(bytes)});
  return static_cast<TensorId>(tensors_.size() - 1);
}

void Tape::drop(TensorId id) {
  Tensor& tensor = tensors_[id];
  if (--tensor.references == 0) {
    allocator_.release(tensor.block);
    tensor.block = CachingAllocator::kNone;
  }
}

CachingAllocator::Block Tape::detach(TensorId id) {
  return std::exchange(tensors_[id].block, CachingAllocator::kNone);
}

void Tape::transient(std::int64_t bytes) {
  allocator_.touch(bytes, MemoryPurpose::Workspace);
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
    return;  // nothing below it learns
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

TensorId Tape::take_gradient(TensorId id) {
  return std::exchange(tensors_[id].gradient, kNoTensor);
}

void Tape::give_gradient(TensorId to, TensorId gradient) {
  if (tensors_[to].gradient == kNoTensor) {
    tensors_[to].gradient = gradient;
  } else {
    drop(gradient);  // added to the first one in place
  }
}

void Tape::backward(TensorId loss, const ForwardAgain& forward_again) {
  give_gradient(loss, make(elements(loss), bytes(loss), MemoryPurpose::Activations));
  walk_back(0, forward_again);
  for (const TensorId leaf : leaves_) {
    if (const TensorId gradient = take_gradient(leaf); gradient != kNoTensor) {
      drop(gradient);
    }
  }
  leaves_.clear();
}

void Tape::walk_back(std::size_t until, const ForwardAgain& forward_again) {
  while (nodes_.size() > until) {
    const Node node = nodes_.back();
    nodes_.pop_back();
    const TensorId incoming = take_gradient(node.out);
    if (node.segment != kNoSegment) {
      run_again(node, incoming, forward_again);
    } else {
      run_back(node, incoming);
    }
    inputs_.resize(node.inputs);
    saved_.resize(node.saved);
    gradients_.resize(node.parameters);
  }
}

void Tape::run_back(const Node& node, TensorId incoming) {
  if (node.traits.matmul) {
    if (!backward_workspace_) {
      backward_workspace_ = true;
      permanent(cublas_workspace_, MemoryPurpose::Workspace);
    }
  }
  transient(node.traits.workspace);
  for (std::size_t index = node.inputs; index < inputs_.size(); ++index) {
    const TensorId input = inputs_[index];
    const auto count = elements(input);
    const auto size = bytes(input);
    if (node.traits.passes_gradient && incoming != kNoTensor && elements(incoming) == count &&
        bytes(incoming) == size) {
      hold(incoming);
      give_gradient(input, incoming);
    } else {
      give_gradient(input, make(count, size, MemoryPurpose::Activations));
      try_out(node.traits.input_trial);
      transient(node.traits.input_workspace);
    }
  }
  made_.clear();
  for (std::size_t index = node.parameters; index < gradients_.size(); ++index) {
    const std::int64_t count = parameters_[gradients_[index]].elements;
    made_.push_back(
        allocator_.allocate(times(count, node.traits.gradient_bytes), MemoryPurpose::Gradients));
    if (index == node.parameters) {
      try_out(node.traits.parameter_trial);
      transient(node.traits.parameter_workspace);
    }
  }
  release_saved(node);
  if (incoming != kNoTensor) {
    drop(incoming);
  }
  keep_parameter_gradients(node);
}

void Tape::keep_parameter_gradients(const Node& node) {
  for (std::size_t index = 0; index < made_.size(); ++index) {
    TapeParameter& parameter = parameters_[gradients_[node.parameters + index]];
    CachingAllocator::Block gradient = made_[index];
    if (node.traits.gradient_bytes != parameter.bytes) {
      const auto cast =
          allocator_.allocate(times(parameter.elements, parameter.bytes), MemoryPurpose::Gradients);
      allocator_.release(gradient);
      gradient = cast;
    }
    if (parameter.gradient == CachingAllocator::kNone) {
      parameter.gradient = gradient;
    } else {
      allocator_.release(gradient);  // accumulated
    }
  }
}

void Tape::run_again(const Node& node, TensorId incoming, const ForwardAgain& forward_again) {
  const std::size_t base = nodes_.size();
  const TensorId input = saved_[node.saved];
  const TensorId out = forward_again(node.segment, input);
  drop(out);
  end_autocast();
  if (incoming != kNoTensor) {
    hold(incoming);  // the caller's arguments live until the whole block has run back
    give_gradient(out, incoming);
  } else {
    give_gradient(out, make(elements(out), bytes(out), MemoryPurpose::Activations));
  }
  walk_back(base, forward_again);
  if (incoming != kNoTensor) {
    drop(incoming);
  }
  drop(input);
}

void Tape::release_saved(const Node& node) {
  for (std::size_t index = node.saved; index < saved_.size(); ++index) {
    drop(saved_[index]);
  }
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

}  // namespace carpool
