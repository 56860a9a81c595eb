// Attention by cosine in windows of an image, as Swin transformers of the second kind have it:
// functions do the work, and only the small network that makes their position bias is seen in a
// list of layers. Internal to estimate/.
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
  std::int64_t padded = 0;      // elements of it, sides rounded up to whole windows
  std::int64_t kept = 0;        // bytes a sample beside queries, keys, values and the output
  std::int64_t bias_parameters = 0;
};

// With t padded tokens a sample, width c, h heads and windows of w x w, autograd keeps
//   cosines         normalised queries and keys, 2 c t, under autocast also their 32-bit copies
//   values          c t, copied for the product
//   weights         h w w t, before they are scaled and behind the softmax; under autocast there
//                   also in 16 bits
// None: the list does not go on with the bias of such windows and the norm behind them.
[[nodiscard]] std::optional<CosineWindows> cosine_windows(std::span<const LayerLine> list,
                                                          const NumberSizes& sizes);

}  // namespace carpool::estimate
