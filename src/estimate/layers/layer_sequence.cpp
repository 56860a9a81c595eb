#include "estimate/layers/layer_sequence.hpp"

#include "estimate/layers/sequence_builder.hpp"

namespace carpool::estimate {
namespace {

using Kind = SequenceStep::Kind;

}  // namespace

LayerSequence sequence_of(const MlpShape& shape) {
  SequenceBuilder builder(shape.inputs);
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
  return std::move(builder.sequence);
}

LayerSequence sequence_of(const CnnShape& shape) {
  std::int64_t side = shape.resolution;
  std::int64_t channels = shape.channels;
  SequenceBuilder builder(times(channels, times(side, side)));
  for (const ConvolutionShape& convolution : shape.convolutions) {
    const std::int64_t padding = shape.kernel / 2;
    const ImageSize in{.channels = channels, .height = side, .width = side};
    side = (side + 2 * padding - shape.kernel) / convolution.stride + 1;
    const std::int64_t per_sample = times(convolution.filters, times(side, side));
    const std::int64_t weights =
        times(times(channels, convolution.filters), times(shape.kernel, shape.kernel));
    builder.add_layer(
        Kind::Convolution, per_sample, {weights, shape.batch_norm ? 0 : convolution.filters});
    channels = convolution.filters;
    builder.set_geometry({.in = in,
                          .out = {.channels = channels, .height = side, .width = side},
                          .kernel = shape.kernel});
    if (shape.batch_norm) {
      builder.add_batch_norm(channels, per_sample);
    }
    builder.add_activation(shape.activation, per_sample, shape.in_place);
  }
  builder.add_layer(Kind::Pool, channels, {});
  builder.add_layer(Kind::Linear, shape.classes, {times(channels, shape.classes), shape.classes});
  return std::move(builder.sequence);
}

}  // namespace carpool::estimate
