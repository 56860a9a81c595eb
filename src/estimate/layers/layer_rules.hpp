// What autograd keeps of each layer, by the name of its class.
#pragma once

#include <string_view>

namespace carpool::estimate {

enum class LayerRule {
  Pass,             // no new tensor: Identity, Flatten, dropout that does nothing
  Linear,           // keeps its input, under autocast in 16 bits
  Convolution,      // the same, with a workspace of its own
  BatchNorm,        // keeps its input and two numbers per channel
  LayerNorm,        // keeps its input (in 32 bits under autocast)
  ResponseNorm,     // the same, and its input scaled by position
  OverwritesInput,  // its input becomes its output, which it keeps: ReLU
  KeepsOutput,      // Tanh, Sigmoid, Softmax
  KeepsInput,       // GELU, SiLU, …; ReLU6 too, even in place: autograd keeps a copy
  KeepsInputOnce,   // PReLU: its backward also makes a temporary copy of the input
  Dropout,          // keeps a mask of one byte per element
  MaxPool,          // keeps input and indices of 8 bytes
  Pool,             // keeps its input
  Scale,            // a factor per channel; keeps its input
  Inception,        // a concatenation of branches, and a pooled copy of their input
  Copy,             // a new tensor, nothing kept: also for unknown layers
};

struct RuledLayer {
  LayerRule rule = LayerRule::Copy;
  bool known = false;
};

[[nodiscard]] RuledLayer rule_of_layer(std::string_view type);

}  // namespace carpool::estimate
