#include "estimate/cudnn/convolution_geometry.hpp"

#include <array>
#include <cmath>

namespace carpool::estimate {
namespace {

struct Kernel {
  std::int64_t side = 0;
  std::int64_t groups = 1;
};

constexpr auto kSides = std::to_array<std::int64_t>({1, 3, 5, 7, 4, 2, 9, 11, 13, 14, 16, 32});

// `each`: parameters per output channel: input channels of its group times the kernel area.
Kernel plain_kernel(std::int64_t each, std::int64_t channels) {
  for (const std::int64_t side : kSides) {
    if (each == channels * side * side) {
      return {.side = side};
    }
  }
  return {};
}

Kernel grouped_kernel(std::int64_t each, std::int64_t channels) {
  for (const std::int64_t side : {3, 5, 7, 9, 11, 13, 1}) {
    const std::int64_t area = side * side;
    if (each % area == 0 && channels % (each / area) == 0) {
      return {.side = side, .groups = channels / (each / area)};
    }
  }
  return {};
}

}  // namespace

ImageSize square_image(std::int64_t elements) {
  constexpr std::int64_t kColours = 3;
  const auto side =
      static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(elements) / kColours)));
  return {.channels = kColours, .height = side, .width = side};
}

ConvolutionGeometry geometry_of(const LayerLine& line, const ImageSize& in) {
  ConvolutionGeometry geometry{
      .in = in,
      .out = {.channels = line.shape[1], .height = line.shape[2], .width = line.shape[3]}};
  const std::int64_t filters = geometry.out.channels;
  if (filters <= 0 || in.channels <= 0) {
    return geometry;
  }
  // The simplest that matches: without groups before with, without a bias before with.
  for (auto* kernel_of : {plain_kernel, grouped_kernel}) {
    for (const std::int64_t weights : {line.parameters, line.parameters - filters}) {
      if (weights <= 0 || weights % filters != 0) {
        continue;
      }
      if (const Kernel kernel = kernel_of(weights / filters, in.channels); kernel.side > 0) {
        geometry.kernel = kernel.side;
        geometry.groups = kernel.groups;
        return geometry;
      }
    }
  }
  return geometry;
}

}  // namespace carpool::estimate
