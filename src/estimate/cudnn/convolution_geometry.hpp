// The sizes of a convolution, which determine cuDNN's workspaces, inferred from a layer list.
// Internal to estimate/.
#pragma once

#include <cstdint>

#include "core/described_job.hpp"

namespace carpool::estimate {

struct ImageSize {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  bool operator==(const ImageSize&) const = default;
};

// Three square planes with this number of elements in all.
[[nodiscard]] ImageSize square_image(std::int64_t elements);

struct ConvolutionGeometry {
  ImageSize in{};
  ImageSize out{};
  std::int64_t kernel = 0;  // pixels of a side; 0: unknown
  std::int64_t groups = 1;
  bool operator==(const ConvolutionGeometry&) const = default;
};

// The convolution from `in` to the output of `line`, whose shape has four extents. Kernel and
// groups follow from the number of parameters; kernel 0 where no kernel matches the channels of
// `in`.
[[nodiscard]] ConvolutionGeometry geometry_of(const LayerLine& line, const ImageSize& in);

}  // namespace carpool::estimate
