// The sizes of a convolution, as far as a list of layers tells them: cuDNN's workspaces depend on
// them. Internal to estimate/.
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

// Three square planes of so many elements in all, as most images are.
[[nodiscard]] ImageSize square_image(std::int64_t elements);

struct ConvolutionGeometry {
  ImageSize in{};
  ImageSize out{};
  std::int64_t kernel = 0;  // pixels of a side; 0: not known
  std::int64_t groups = 1;
  bool operator==(const ConvolutionGeometry&) const = default;
};

// What turned `in` into the output of `line`, whose shape has four extents. A list does not tell
// which tensor a layer got: where the parameters do not go with the channels of `in`, those
// that they go with are taken.
[[nodiscard]] ConvolutionGeometry geometry_of(const LayerLine& line, const ImageSize& in);

}  // namespace carpool::estimate
