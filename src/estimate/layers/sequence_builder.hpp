// Builds a layer sequence step by step. Internal to estimate/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "estimate/layers/layer_rules.hpp"
#include "estimate/layers/layer_sequence.hpp"

namespace carpool::estimate {

class SequenceBuilder {
 public:
  using Kind = SequenceStep::Kind;

  explicit SequenceBuilder(std::int64_t input_per_sample) {
    sequence.input_per_sample = input_per_sample;
  }

  // Reserves room for the layers of a list and the steps between them.
  void expect(std::size_t layers) {
    sequence.steps.reserve(2 * layers);
    sequence.cuts.reserve(2 * layers);
    sequence.parameters.reserve(2 * layers);
    sequence.convolutions.reserve(layers);
  }

  SequenceStep& add(Kind kind, std::int64_t per_sample) {
    sequence.steps.push_back({.kind = kind, .per_sample = per_sample});
    return sequence.steps.back();
  }

  // A layer and its parameters, in this order.
  SequenceStep& add_layer(Kind kind,
                          std::int64_t per_sample,
                          std::initializer_list<std::int64_t> parameters) {
    sequence.cuts.push_back(sequence.steps.size());
    SequenceStep& step = add(kind, per_sample);
    step.first_parameter = parameters_;
    for (const std::int64_t elements : parameters) {
      if (elements > 0) {
        add_parameter(elements);
        ++step.parameter_count;
      }
    }
    return step;
  }

  void add_parameter(std::int64_t elements) {
    sequence.parameters.push_back({.elements = elements, .role = ParameterRole::Trained});
    ++parameters_;
  }

  // The parameters of a list that no layer owns, and its buffers of 4 bytes per element, half of
  // them means, half variances.
  void add_unseen(const LayerList& list, std::int64_t seen) {
    if (const std::int64_t rest = list.parameters - seen; rest > 0) {
      add_parameter(rest);
      sequence.unseen_parameters = static_cast<double>(rest) / static_cast<double>(list.parameters);
    }
    for (int half = 0; half < 2 && list.buffers > 0; ++half) {
      sequence.parameters.push_back({.elements = list.buffers / 8, .role = ParameterRole::Buffer});
    }
  }

  // Sets the geometry of the last convolution added.
  void set_geometry(const ConvolutionGeometry& geometry) {
    sequence.steps.back().geometry = sequence.convolutions.size();
    sequence.convolutions.push_back(geometry);
  }

  void add_batch_norm(std::int64_t channels, std::int64_t per_sample) {
    add_layer(Kind::BatchNorm, per_sample, {channels, channels}).channels = channels;
    for (int statistic = 0; statistic < 2; ++statistic) {
      sequence.parameters.push_back({.elements = channels, .role = ParameterRole::Buffer});
    }
  }

  void add_activation(std::string_view name, std::int64_t per_sample, bool in_place) {
    const LayerRule rule = rule_of_layer(name).rule;
    const bool keeps_output = rule == LayerRule::OverwritesInput || rule == LayerRule::KeepsOutput;
    if (in_place && (keeps_output || name == "SiLU")) {
      add_layer(keeps_output ? Kind::OverwriteInput : Kind::OverwriteByCopy, per_sample, {});
    } else if (rule == LayerRule::KeepsInputOnce) {
      add_layer(Kind::KeepInputOnce, per_sample, {1});
    } else if (rule != LayerRule::Pass) {
      add_layer(keeps_output ? Kind::KeepOutput : Kind::KeepInput, per_sample, {});
    }
  }

  // For layers that are one step.
  [[nodiscard]] static Kind kind_of(LayerRule rule) {
    switch (rule) {
      case LayerRule::OverwritesInput:
        return Kind::OverwriteInput;
      case LayerRule::KeepsOutput:
        return Kind::KeepOutput;
      case LayerRule::KeepsInput:
      case LayerRule::Scale:
        return Kind::KeepInput;
      case LayerRule::KeepsInputOnce:
        return Kind::KeepInputOnce;
      case LayerRule::Dropout:
        return Kind::Dropout;
      default:
        return Kind::Copy;
    }
  }

  LayerSequence sequence;

 private:
  ParameterId parameters_ = 0;
};

}  // namespace carpool::estimate
