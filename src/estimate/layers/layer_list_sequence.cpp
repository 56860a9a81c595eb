#include <algorithm>

#include "estimate/layers/cosine_windows.hpp"
#include "estimate/layers/hidden_attention.hpp"
#include "estimate/layers/sequence_builder.hpp"

namespace carpool::estimate {
namespace {

using Kind = SequenceStep::Kind;

// A tensor this many times smaller than the one pooled before it is a gate for that one.
constexpr std::int64_t kGateShrinks = 16;
// A pooling that shrinks by more leaves about one value per channel.
constexpr std::int64_t kPoolShrinks = 8;
constexpr std::size_t kImageExtents = 4;  // batch, channels, height, width

// Translates a list of leaf modules. Operations between them are inferred from sizes.
class ListReader {
 public:
  ListReader(const LayerList& list, const TrainingSetup& setup)
      : list_(list),
        builder_(std::max<std::int64_t>(list.input_elements, 1)),  // may be missing in a list
        own_sizes_(setup.precision == list.precision),
        boundaries_(setup.checkpointing),
        number_sizes_(sizes_of(setup.precision)),
        element_bytes_(number_sizes_.compute),
        window_bytes_(number_sizes_.autocast ? 6 : element_bytes_),
        image_(square_image(list.input_elements)),
        hidden_(list.parameters) {
    for (const LayerLine& line : list.layers) {
      hidden_ -= line.parameters;
    }
  }

  LayerSequence read() {
    builder_.expect(list_.layers.size());
    for (std::size_t index = 0; index < list_.layers.size(); ++index) {
      if (const auto windows =
              cosine_windows(std::span(list_.layers).subspan(index), number_sizes_)) {
        add_cosine_attention(*windows);
        index += CosineWindows::kBiasLayers;
      }
      add(index);
      if (const auto& shape = list_.layers[index].shape; shape.size() == kImageExtents) {
        image_ = {.channels = shape[1], .height = shape[2], .width = shape[3]};
      }
    }
    builder_.add_unseen(list_, seen_);
    return std::move(builder_.sequence);
  }

 private:
  // Which part of its attention a model hides; it is the same in all its blocks.
  enum class Hiding : std::uint8_t { Unknown, Whole, Projections, Cosines };

  [[nodiscard]] bool may_hide(Hiding way) const {
    return hiding_ == Hiding::Unknown || hiding_ == way;
  }

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
    builder_.sequence.unknown_layers += ruled.known ? 0 : 1;
    seen_ += line.parameters;
    const Size size = size_of(line);
    if (ruled.rule == LayerRule::Pass && hidden_norm(index)) {
      place(Kind::KeepInput, size, line, {});
      return;
    }
    if (started_ && are_attention_weights(line) && product(line.shape) != current_) {
      add_attention_weights(line, size);
    }
    if (ruled.rule == LayerRule::Pass || size.at(list_.batch) == 0) {
      if (line.parameters > 0) {
        builder_.add_parameter(line.parameters);
      }
      return;
    }
    between(ruled.rule, line, size);
    if (may_hide(Hiding::Projections) && projections_before(list_.layers, index, hidden_)) {
      hiding_ = Hiding::Projections;
      add_projections(line.shape.back(), size);
      insert(Kind::Attention, size);
    }
    add_ruled(ruled.rule, line, size);
    if (may_hide(Hiding::Whole) && attention_behind(list_.layers, index, hidden_)) {
      hiding_ = Hiding::Whole;
      add_attention(line, size);
    }
  }

  // Queries, keys and values are kept, and the weights where the list has no softmax.
  void add_attention_weights(const LayerLine& line, const Size& size) {
    const std::int64_t current = current_size_.per_sample;
    insert(Kind::KeepBytes, {.per_sample = times(current, element_bytes_)});
    if (line.type == "Dropout") {
      insert(Kind::KeepBytes, {.per_sample = times(size.per_sample, window_bytes_)});
    }
    current_ = product(line.shape);
  }

  // Queries, keys and values in one product.
  void add_projections(std::int64_t width, const Size& size) {
    hidden_ -= projection_parameters(width);
    seen_ += projection_parameters(width);
    place(Kind::Linear,
          {.per_sample = times(3, size.per_sample), .fixed = times(3, size.fixed)},
          {},
          {projection_parameters(width)});
  }

  // Queries, keys and values in one product, attention, output projection.
  void add_attention(const LayerLine& norm, const Size& size) {
    const std::int64_t width = norm.shape.back();
    hidden_ -= attention_parameters(width);
    seen_ += attention_parameters(width);
    const Size three{.per_sample = times(3, size.per_sample), .fixed = times(3, size.fixed)};
    place(Kind::Linear, three, {}, {times(3, times(width, width)), times(3, width)});
    if (norm.shape.size() == kImageExtents) {
      // In windows of an image the weights are materialised: their softmax and its cast are kept.
      const std::int64_t weights = window_weights(size.per_sample, width);
      insert(Kind::KeepBytes, {.per_sample = times(weights, window_bytes_)});
    }
    insert(Kind::Attention, size);
    place(Kind::Linear, size, {}, {times(width, width), width});
  }

  // Before the next norm.
  void add_cosine_attention(const CosineWindows& windows) {
    hiding_ = Hiding::Cosines;
    const std::int64_t width = windows.width;
    hidden_ -= attention_parameters(width);
    seen_ += attention_parameters(width) + windows.bias_parameters;
    builder_.add_parameter(windows.bias_parameters);
    insert(Kind::Copy, {.per_sample = windows.padded});
    place(Kind::Linear,
          {.per_sample = times(3, windows.padded)},
          {},
          {times(3, times(width, width)), times(3, width)});
    insert(Kind::KeepBytes, {.per_sample = windows.kept});
    insert(Kind::Attention, {.per_sample = windows.padded});
    place(Kind::Linear, {.per_sample = windows.padded}, {}, {times(width, width), width});
    insert(Kind::Copy, {.per_sample = windows.per_sample});
  }

  [[nodiscard]] bool hidden_norm(std::size_t index) const {
    return list_.hidden_norms && index > 0 && list_.layers[index].type == "Identity" &&
           rule_of_layer(list_.layers[index - 1].type).rule == LayerRule::Convolution;
  }

  // Adds the operations since the last layer that the size of this one implies.
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
      insert(Kind::Gate, gated_);  // squeeze and excite: the large tensor is scaled by the gate
    }
    const bool square =
        rule == LayerRule::Linear && line.parameters - channels == times(channels, channels);
    if (square && current_ == times(here, 3)) {
      insert(Kind::Attention, size);
    }
  }

  void insert(Kind kind, const Size& size) {
    SequenceStep& step = builder_.add(kind, size.per_sample);
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
        builder_.sequence.steps.back().channels = all / 2;
        return;
      case LayerRule::LayerNorm:
      case LayerRule::ResponseNorm:
        place(Kind::LayerNorm, size, line, {all / 2, all - all / 2});
        if (rule == LayerRule::ResponseNorm) {
          insert(Kind::KeepBytes, {.per_sample = times(size.per_sample, element_bytes_)});
          current_ = size.at(list_.batch);
        }
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
        place(SequenceBuilder::kind_of(rule), size, line, {all});
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
    SequenceStep& step = builder_.add_layer(kind, size.per_sample, parameters);
    step.fixed = size.fixed;
    step.bytes = own_sizes_ ? static_cast<std::uint8_t>(line.element_bytes) : std::uint8_t{0};
    current_ = size.at(list_.batch);
    current_size_ = size;
    started_ = true;
  }

  // A checkpointed segment does not know what an earlier one pooled.
  void start_segment() {
    constexpr std::size_t kSegmentLayers = 8;
    if (boundaries_ && builder_.sequence.cuts.size() % kSegmentLayers == 0) {
      gated_ = {};
    }
  }

  const LayerList& list_;
  SequenceBuilder builder_;
  bool own_sizes_;
  bool boundaries_;
  NumberSizes number_sizes_;
  std::int64_t element_bytes_;
  Hiding hiding_ = Hiding::Unknown;
  std::int64_t window_bytes_;  // kept of an attention weight that no module makes
  bool started_ = false;
  std::int64_t current_ = 0;  // elements of the input of the next layer
  Size current_size_{};
  ImageSize image_{};        // the last output that is an image; at first the input
  Size gated_{};             // the tensor before the last pooling, which a gate may scale
  std::int64_t joined_ = 0;  // elements per sample of the last Inception block's output
  std::int64_t seen_ = 0;    // parameters
  std::int64_t hidden_;      // parameters that no layer owns, so far
};

}  // namespace

LayerSequence sequence_of(const LayerList& list, const TrainingSetup& setup) {
  return ListReader(list, setup).read();
}

}  // namespace carpool::estimate
