#include "estimate/replay/tape.hpp"

namespace carpool::estimate {

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
      if (tensors_[input].gradient == kNoTensor) {
        give_gradient(input, make(count, size, MemoryPurpose::Activations));
      } else {
        allocator_.touch(times(count, size), MemoryPurpose::Activations);  // added to the first
      }
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
    hold(incoming);  // the block's argument lives until its backward has finished
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

}  // namespace carpool::estimate
