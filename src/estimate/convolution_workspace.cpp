#include "estimate/convolution_workspace.hpp"

#include <algorithm>
#include <bit>
#include <initializer_list>

#include "estimate/tape.hpp"
#include "estimate/training_run.hpp"

namespace carpool {
namespace {

constexpr std::int64_t kLargestTransform = 256;  // pixels of a side
constexpr std::int64_t kComplex = 8;             // bytes
// Parts of a weight's gradient that are summed up in the end, where all ways are tried.
constexpr std::int64_t kSplits = 32;

std::int64_t rounded(std::int64_t channels, std::int64_t to) {
  return (channels + to - 1) / to * to;
}

struct Copies {
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t weight = 0;
  [[nodiscard]] std::int64_t all() const { return plus(plus(in, out), weight); }
};

std::int64_t bytes_of(const ImageSize& image, std::int64_t channels, std::int64_t each) {
  return times(times(times(image.height, image.width), channels), each);
}

// Input, output and weight, channels in steps of `step`.
Copies copies_of(const ConvolutionGeometry& geometry,
                 std::int64_t batch,
                 std::int64_t bytes,
                 std::int64_t step) {
  const std::int64_t in = rounded(geometry.in.channels, step);
  const std::int64_t out = rounded(geometry.out.channels, step);
  const std::int64_t each = times(batch, bytes);
  return {.in = bytes_of(geometry.in, in, each),
          .out = bytes_of(geometry.out, out, each),
          .weight = times(times(in / geometry.groups, out),
                          times(times(geometry.kernel, geometry.kernel), bytes))};
}

bool is_depthwise(const ConvolutionGeometry& geometry) {
  return geometry.groups > 1 && geometry.groups == geometry.in.channels;
}

std::int64_t channel_step(const TrainingSetup& setup) {
  if (is_strict_fp32(setup)) {
    return 1;
  }
  return setup.precision == Precision::Fp32 ? 4 : 8;
}

// 0 where the transform does not apply.
std::int64_t transform_bytes(const ConvolutionGeometry& geometry,
                             const TrainingSetup& setup,
                             std::int64_t batch) {
  const std::int64_t along = std::max(geometry.in.height, geometry.in.width) +
                             std::max<std::int64_t>(geometry.kernel, 1) - 1;
  // Of single pixels only when all ways are tried.
  const std::int64_t least = setup.autotune ? 1 : 2;
  const bool strided = geometry.out.height < geometry.in.height - geometry.kernel;
  if (along > kLargestTransform || strided || geometry.groups > 1 || geometry.kernel < least) {
    return 0;
  }
  const auto side = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(along)));
  const std::int64_t in = geometry.in.channels;
  const std::int64_t out = geometry.out.channels;
  const std::int64_t planes = plus(2 * times(in, out), times(batch, in + out));
  return times(times(planes, times(side, side / 2 + 1)), kComplex);
}

}  // namespace

ConvolutionWorkspace usual_workspace(const ConvolutionGeometry& geometry,
                                     const TrainingSetup& setup,
                                     std::int64_t batch) {
  if (is_depthwise(geometry) || geometry.in.channels == 0) {
    return {};
  }
  const std::int64_t step = channel_step(setup);
  const std::int64_t bytes = sizes_of(setup.precision).compute;
  const Copies copies = copies_of(geometry, batch, bytes, step);
  if (is_strict_fp32(setup)) {
    const std::int64_t both = plus(copies.in, copies.out);
    return setup.channels_last ? ConvolutionWorkspace{.forward = both,
                                                      .input_gradient = both,
                                                      .weight_gradient = both}
                               : ConvolutionWorkspace{.weight_gradient = both};
  }
  if (geometry.kernel == 1) {
    return {};
  }
  if (!setup.channels_last) {
    return {
        .forward = copies.all(), .input_gradient = copies.all(), .weight_gradient = copies.all()};
  }
  const std::int64_t padded = plus(geometry.in.channels % step == 0 ? 0 : copies.in,
                                   geometry.out.channels % step == 0 ? 0 : copies.out);
  return {
      .forward = padded, .input_gradient = padded, .weight_gradient = plus(padded, copies.weight)};
}

ConvolutionWorkspace largest_workspace(const ConvolutionGeometry& geometry,
                                       const TrainingSetup& setup,
                                       std::int64_t batch,
                                       std::int64_t limit) {
  const std::int64_t bytes = sizes_of(setup.precision).compute;
  const Copies copies = copies_of(geometry, batch, bytes, channel_step(setup));
  const std::int64_t moved = times(2, plus(copies.in, copies.out));
  const std::int64_t transform = bytes == 4 ? transform_bytes(geometry, setup, batch) : 0;
  const std::int64_t split = plus(moved / 2, times(kSplits, copies.weight));
  const auto most = [limit](std::initializer_list<std::int64_t> candidates) {
    std::int64_t found = 0;
    for (const std::int64_t candidate : candidates) {
      found = candidate <= limit ? std::max(found, candidate) : found;
    }
    return found;
  };
  const std::int64_t either = most({moved, transform});
  return {.forward = either, .input_gradient = either, .weight_gradient = most({either, split})};
}

}  // namespace carpool
