// Attention that a layer list does not show, as functions compute it. It is recognised by the
// layers around it and by parameters that no layer owns. Internal to estimate/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/described_job.hpp"

namespace carpool::estimate {

// `hidden`: number of parameters that no layer of the list owns.

// Parameters of an attention of this width: projections of queries, keys, values and output.
[[nodiscard]] std::int64_t attention_parameters(std::int64_t width);
// Whether a whole attention follows this norm (Swin, torchvision's ViT): the list continues with a
// dropout.
[[nodiscard]] bool attention_behind(std::span<const LayerLine> list,
                                    std::size_t norm,
                                    std::int64_t hidden);

// Whether the line is a softmax, or the dropout after one, over the weights of all heads and pairs
// of tokens.
[[nodiscard]] bool are_attention_weights(const LayerLine& line);
// Attention weights in windows of an image (Swin) with this number of elements.
[[nodiscard]] std::int64_t window_weights(std::int64_t elements, std::int64_t width);

// Parameters of the projections of queries, keys and values.
[[nodiscard]] std::int64_t projection_parameters(std::int64_t width);
// Whether this linear layer is the output projection of an attention whose other projections the
// list does not show (BEiT): it follows the norm directly.
[[nodiscard]] bool projections_before(std::span<const LayerLine> list,
                                      std::size_t product,
                                      std::int64_t hidden);

}  // namespace carpool::estimate
