#include "estimate/chain.hpp"

#include <algorithm>
#include <string_view>

#include "estimate/layer_rules.hpp"

namespace carpool {
namespace {

using Kind = ChainStep::Kind;

// A tensor this many times smaller than the pooled one in front of it is a gate for that one.
constexpr std::int64_t kGateShrinks = 16;
// A pooling that shrinks by more reduces to one value a channel or nearly so.
constexpr std::int64_t kPoolShrinks = 8;

class ChainBuilder {
 public:
  explicit ChainBuilder(std::int64_t input_per_sample) {
    chain.input_per_sample = input_per_sample;
  }

  ChainStep& add(Kind kind, std::int64_t per_sample) {
    chain.steps.push_back({.kind = kind, .per_sample = per_sample});
    return chain.steps.back();
  }

  // A layer with its parameters, which belong to it in this order.
  ChainStep& add_layer(Kind kind,
                       std::int64_t per_sample,
                       std::initializer_list<std::int64_t> parameters) {
    chain.cuts.push_back(chain.steps.size());
    ChainStep& step = add(kind, per_sample);
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
    chain.parameters.push_back({.elements = elements, .role = ParameterRole::Trained});
    ++parameters_;
  }

  void add_batch_norm(std::int64_t channels, std::int64_t per_sample) {
    add_layer(Kind::BatchNorm, per_sample, {channels, channels}).channels = channels;
    for (int statistic = 0; statistic < 2; ++statistic) {
      chain.parameters.push_back({.elements = channels, .role = ParameterRole::Buffer});
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

  Chain chain;

 private:
  ParameterId parameters_ = 0;
};

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) {
    elements = times(elements, extent);
  }
  return elements;
}

// Translates a list of leaf modules. What lies between them is found by comparing sizes.
class ListReader {
 public:
  ListReader(const LayerList& list, const TrainingSetup& setup)
      : list_(list),
        builder_(std::max<std::int64_t>(list.input_elements, 1)),  // a list need not tell it
        own_sizes_(setup.precision == list.precision),
        boundaries_(setup.checkpointing) {}

  Chain read() {
    for (std::size_t index = 0; index < list_.layers.size(); ++index) {
      add(index);
    }
    finish_parameters();
    return std::move(builder_.chain);
  }

 private:
  struct Size {
    std::int64_t per_sample = 0;
    std::int64_t fixed = 0;
    [[nodiscard]] std::int64_t at(std::int64_t batch) const {
      return times(per_sample, batch) + fixed;
    }
  };

  [[nodiscard]] Size size_of(const LayerLine& line) const {
    const std::int64_t elements = product(line.shape);
    return elements % list_.batch == 0 ? Size{.per_sample = elements / list_.batch}
                                       : Size{.fixed = elements};
  }

  void add(std::size_t index) {
    const LayerLine& line = list_.layers[index];
    const RuledLayer ruled = rule_of_layer(line.type);
    builder_.chain.unknown_layers += ruled.known ? 0 : 1;
    seen_ += line.parameters;
    const Size size = size_of(line);
    if (ruled.rule == LayerRule::Pass && hidden_norm(index)) {
      place(Kind::KeepInput, size, line, {});
      return;
    }
    if (ruled.rule == LayerRule::Pass || size.at(list_.batch) == 0) {
      if (line.parameters > 0) {
        builder_.add_parameter(line.parameters);
      }
      return;
    }
    between(ruled.rule, line, size);
    add_ruled(ruled.rule, line, size);
  }

  [[nodiscard]] bool hidden_norm(std::size_t index) const {
    return list_.hidden_norms && index > 0 && list_.layers[index].type == "Identity" &&
           rule_of_layer(list_.layers[index - 1].type).rule == LayerRule::Convolution;
  }

  // What must have happened since the last layer for this one to have its size.
  void between(LayerRule rule, const LayerLine& line, const Size& size) {
    const std::int64_t here = size.at(list_.batch);
    const bool pointwise = rule == LayerRule::BatchNorm || rule == LayerRule::KeepsInput ||
                           rule == LayerRule::OverwritesInput;
    if (pointwise && here > current_ && started_) {
      insert(Kind::Copy, size);  // a concatenation
    }
    const bool is_product = rule == LayerRule::Convolution || rule == LayerRule::Linear;
    if (!is_product || line.shape.size() < 2) {
      return;
    }
    const std::int64_t channels =
        rule == LayerRule::Convolution ? line.shape[1] : line.shape.back();
    const std::int64_t positions = here / std::max<std::int64_t>(channels, 1);
    if (gated_.at(list_.batch) > times(current_, kGateShrinks) && 2 * positions > 3 * list_.batch) {
      insert(Kind::Gate, gated_);  // squeeze and excite: the layer sees a large tensor again
    }
    const bool square =
        rule == LayerRule::Linear && line.parameters - channels == times(channels, channels);
    if (square && current_ == times(here, 3)) {
      insert(Kind::Attention, size);
    }
  }

  void insert(Kind kind, const Size& size) {
    ChainStep& step = builder_.add(kind, size.per_sample);
    step.fixed = size.fixed;
    step.layer = false;
    current_ = size.at(list_.batch);
  }

  void add_ruled(LayerRule rule, const LayerLine& line, const Size& size) {
    const std::int64_t all = line.parameters;
    const std::int64_t last = line.shape.empty() ? 1 : line.shape.back();
    switch (rule) {
      case LayerRule::Linear: {
        const bool split = all > last && last > 0 && all % last == 0;
        place(Kind::Linear, size, line, {split ? all - last : all, split ? last : 0});
        return;
      }
      case LayerRule::Convolution:
        builder_.chain.convolutions = true;
        place(Kind::Convolution, size, line, {all});
        return;
      case LayerRule::BatchNorm:
        place(Kind::BatchNorm, size, line, {all / 2, all - all / 2});
        builder_.chain.steps.back().channels = all / 2;
        return;
      case LayerRule::LayerNorm:
        place(Kind::LayerNorm, size, line, {all / 2, all - all / 2});
        return;
      case LayerRule::Inception:
        insert(Kind::KeepBytes, {.per_sample = 4 * (joined_ > 0 ? joined_ : size.per_sample)});
        place(Kind::Copy, size, line, {all});
        joined_ = size.per_sample;
        return;
      case LayerRule::Pool:
      case LayerRule::MaxPool:
        add_pool(rule, line, size);
        return;
      default:
        place(kind_of(rule), size, line, {all});
    }
  }

  static Kind kind_of(LayerRule rule) {
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

  void add_pool(LayerRule rule, const LayerLine& line, const Size& size) {
    const std::int64_t here = size.at(list_.batch);
    const std::int64_t channels =
        line.shape.size() > 1 ? std::max<std::int64_t>(line.shape[1], 1) : 1;
    Kind kind = rule == LayerRule::MaxPool ? Kind::MaxPool : Kind::Pool;
    if (times(here, kPoolShrinks) < current_ && here / channels <= list_.batch &&
        kind == Kind::Pool) {
      kind = Kind::RememberAndPool;
      gated_ = current_size_;
    }
    place(kind, size, line, {line.parameters});
  }

  void place(Kind kind,
             const Size& size,
             const LayerLine& line,
             std::initializer_list<std::int64_t> parameters) {
    start_segment();
    ChainStep& step = builder_.add_layer(kind, size.per_sample, parameters);
    step.fixed = size.fixed;
    step.bytes = own_sizes_ ? static_cast<std::uint8_t>(line.element_bytes) : std::uint8_t{0};
    current_ = size.at(list_.batch);
    current_size_ = size;
    started_ = true;
  }

  // A segment that is run again does not remember what an earlier one pooled.
  void start_segment() {
    constexpr std::size_t kSegmentLayers = 8;
    if (boundaries_ && builder_.chain.cuts.size() % kSegmentLayers == 0) {
      gated_ = {};
    }
  }

  void finish_parameters() {
    const std::int64_t rest = list_.parameters - seen_;
    if (rest > 0) {
      builder_.add_parameter(rest);
      builder_.chain.unseen_parameters =
          static_cast<double>(rest) / static_cast<double>(list_.parameters);
    }
    for (int half = 0; half < 2 && list_.buffers > 0; ++half) {
      builder_.chain.parameters.push_back(
          {.elements = list_.buffers / 8, .role = ParameterRole::Buffer});
    }
  }

  const LayerList& list_;
  ChainBuilder builder_;
  bool own_sizes_;
  bool boundaries_;
  bool started_ = false;
  std::int64_t current_ = 0;  // elements of the tensor that the next layer gets
  Size current_size_{};
  Size gated_{};             // what was pooled away and comes back in a gate
  std::int64_t joined_ = 0;  // elements a sample of the last Inception block's output
  std::int64_t seen_ = 0;    // parameters
};

}  // namespace

Chain chain_of(const MlpShape& shape) {
  ChainBuilder builder(shape.inputs);
  std::int64_t width = shape.inputs;
  for (const std::int64_t next : shape.widths) {
    builder.add_layer(Kind::Linear, next, {times(width, next), next});
    width = next;
    if (shape.batch_norm) {
      builder.add_batch_norm(width, width);
    }
    builder.add_activation(shape.activation, width, /*in_place=*/false);
    if (shape.dropout) {
      builder.add_layer(Kind::Dropout, width, {});
    }
  }
  builder.add_layer(Kind::Linear, shape.classes, {times(width, shape.classes), shape.classes});
  if (!shape.last.empty()) {
    builder.add_activation(shape.last, shape.classes, /*in_place=*/false);
  }
  return std::move(builder.chain);
}

Chain chain_of(const CnnShape& shape) {
  std::int64_t side = shape.resolution;
  std::int64_t channels = shape.channels;
  ChainBuilder builder(times(channels, times(side, side)));
  builder.chain.convolutions = true;
  for (const ConvolutionShape& convolution : shape.convolutions) {
    const std::int64_t padding = shape.kernel / 2;
    side = (side + 2 * padding - shape.kernel) / convolution.stride + 1;
    const std::int64_t per_sample = times(convolution.filters, times(side, side));
    const std::int64_t weights =
        times(times(channels, convolution.filters), times(shape.kernel, shape.kernel));
    builder.add_layer(
        Kind::Convolution, per_sample, {weights, shape.batch_norm ? 0 : convolution.filters});
    channels = convolution.filters;
    if (shape.batch_norm) {
      builder.add_batch_norm(channels, per_sample);
    }
    builder.add_activation(shape.activation, per_sample, shape.in_place);
  }
  builder.add_layer(Kind::Pool, channels, {});
  builder.add_layer(Kind::Linear, shape.classes, {times(channels, shape.classes), shape.classes});
  return std::move(builder.chain);
}

Chain chain_of(const LayerList& list, const TrainingSetup& setup) {
  return ListReader(list, setup).read();
}

}  // namespace carpool
