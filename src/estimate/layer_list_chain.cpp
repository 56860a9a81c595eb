#include <algorithm>
#include <cmath>

#include "estimate/chain_builder.hpp"

namespace carpool {
namespace {

using Kind = ChainStep::Kind;

// A tensor this many times smaller than the pooled one in front of it is a gate for that one.
constexpr std::int64_t kGateShrinks = 16;
// A pooling that shrinks by more reduces to one value a channel or nearly so.
constexpr std::int64_t kPoolShrinks = 8;
constexpr std::int64_t kColours = 3;
constexpr std::size_t kImageExtents = 4;  // batch, channels, height, width
// Of attention in windows of an image, as Swin transformers have it.
constexpr std::int64_t kHeadWidth = 32;
constexpr std::int64_t kWindowTokens = 49;

// Three square planes, as images are.
ImageSize input_image(std::int64_t elements) {
  const auto side =
      static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(elements) / kColours)));
  return {.channels = kColours, .height = side, .width = side};
}

// Translates a list of leaf modules. What lies between them is found by comparing sizes.
class ListReader {
 public:
  ListReader(const LayerList& list, const TrainingSetup& setup)
      : list_(list),
        builder_(std::max<std::int64_t>(list.input_elements, 1)),  // a list need not tell it
        own_sizes_(setup.precision == list.precision),
        boundaries_(setup.checkpointing),
        element_bytes_(sizes_of(setup.precision).compute),
        window_bytes_(sizes_of(setup.precision).autocast ? 6 : element_bytes_),
        image_(input_image(list.input_elements)),
        hidden_(list.parameters) {
    for (const LayerLine& line : list.layers) {
      hidden_ -= line.parameters;
    }
  }

  Chain read() {
    builder_.expect(list_.layers.size());
    for (std::size_t index = 0; index < list_.layers.size(); ++index) {
      add(index);
      remember_image(list_.layers[index]);
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
    if (holds_attention_weights(line)) {
      add_attention_weights(line, size);
    }
    if (ruled.rule == LayerRule::Pass || size.at(list_.batch) == 0) {
      if (line.parameters > 0) {
        builder_.add_parameter(line.parameters);
      }
      return;
    }
    between(ruled.rule, line, size);
    add_ruled(ruled.rule, line, size);
    if (hides_attention(index)) {
      add_attention(line, size);
    }
  }

  // A norm with nothing between it and a dropout: the attention there calls no module of its own.
  [[nodiscard]] bool hides_attention(std::size_t index) const {
    if (index == 0 || index + 1 == list_.layers.size() || hidden_ <= 0) {
      return false;
    }
    const LayerLine& norm = list_.layers[index];
    const LayerLine& next = list_.layers[index + 1];
    // Behind a norm that itself follows a dropout, a stochastic depth ends the feed-forward part.
    const bool drops = next.type == "Dropout" || (next.type == "StochasticDepth" &&
                                                  list_.layers[index - 1].type != "Dropout");
    return norm.type == "LayerNorm" && drops && next.shape == norm.shape &&
           attention_parameters(norm.shape.back()) <= hidden_;
  }

  // Of every head, for every pair of tokens, as a softmax or the dropout behind one has them.
  [[nodiscard]] bool holds_attention_weights(const LayerLine& line) const {
    const auto& shape = line.shape;
    return (line.type == "Softmax" || line.type == "Dropout") && shape.size() == kImageExtents &&
           shape[2] == shape[3] && product(shape) != current_ && started_;
  }

  // Queries, keys and values are kept, and the weights where no module told of their softmax.
  void add_attention_weights(const LayerLine& line, const Size& size) {
    const std::int64_t current = current_size_.per_sample;
    insert(Kind::KeepBytes, {.per_sample = times(current, element_bytes_)});
    if (line.type == "Dropout") {
      insert(Kind::KeepBytes, {.per_sample = times(size.per_sample, window_bytes_)});
    }
    current_ = product(line.shape);
  }

  static std::int64_t attention_parameters(std::int64_t width) {
    return times(4, times(width, width + 1));
  }

  // Queries, keys and values in one product, attention, the product behind it.
  void add_attention(const LayerLine& norm, const Size& size) {
    const std::int64_t width = norm.shape.back();
    hidden_ -= attention_parameters(width);
    seen_ += attention_parameters(width);
    const Size three{.per_sample = times(3, size.per_sample), .fixed = times(3, size.fixed)};
    place(Kind::Linear, three, {}, {times(3, times(width, width)), times(3, width)});
    if (norm.shape.size() == kImageExtents) {
      // In windows of an image all weights are made: their softmax and its cast are kept.
      const std::int64_t weights =
          times(size.per_sample / std::max<std::int64_t>(width, 1),
                times((width + kHeadWidth - 1) / kHeadWidth, kWindowTokens));
      insert(Kind::KeepBytes, {.per_sample = times(weights, window_bytes_)});
    }
    insert(Kind::Attention, size);
    place(Kind::Linear, size, {}, {times(width, width), width});
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
        place(Kind::Convolution, size, line, {all});
        builder_.set_geometry(line.shape.size() == kImageExtents ? geometry_of(line, image_)
                                                                 : ConvolutionGeometry{});
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
        place(ChainBuilder::kind_of(rule), size, line, {all});
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

  void remember_image(const LayerLine& line) {
    if (line.shape.size() == kImageExtents) {
      image_ = {.channels = line.shape[1], .height = line.shape[2], .width = line.shape[3]};
    }
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
  std::int64_t element_bytes_;
  std::int64_t window_bytes_;  // kept of a weight of attention that no module makes
  bool started_ = false;
  std::int64_t current_ = 0;  // elements of the tensor that the next layer gets
  Size current_size_{};
  ImageSize image_{};        // the last output that is one; at first what comes in
  Size gated_{};             // what was pooled away and comes back in a gate
  std::int64_t joined_ = 0;  // elements a sample of the last Inception block's output
  std::int64_t seen_ = 0;    // parameters
  std::int64_t hidden_;      // parameters of no layer in the list, so far
};

}  // namespace

Chain chain_of(const LayerList& list, const TrainingSetup& setup) {
  return ListReader(list, setup).read();
}

}  // namespace carpool
