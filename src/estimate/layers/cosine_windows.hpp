// Cosine attention in windows of an image (Swin v2). It is computed by functions, so that a layer
// list shows only the small network that makes its position bias. Internal to estimate/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/described_job.hpp"
#include "estimate/replay/training_run.hpp"

namespace carpool::estimate {

struct CosineWindows {
  static constexpr std::size_t kBiasLayers = 3;  // a linear layer, a ReLU, a linear layer

  std::int64_t width = 0;
  std::int64_t per_sample = 0;  // elements of the image
  std::int64_t padded = 0;      // the same, sides rounded up to whole windows
  std::int64_t kept = 0;        // bytes per sample besides queries, keys, values and output
  std::int64_t bias_parameters = 0;
};

// With t padded tokens per sample, width c, h heads and windows of w x w, autograd keeps
//   cosines         normalised queries and keys, 2 c t, under autocast also their 32-bit copies
//   values          c t, copied for the product
//   weights         h w w t, before scaling and after the softmax, there under autocast also in
//                   16 bits
// Nothing: the list does not begin with the bias network of such windows and the norm after them.
[[nodiscard]] std::optional<CosineWindows> cosine_windows(std::span<const LayerLine> list,
                                                          const NumberSizes& sizes);

}  // namespace carpool::estimate
