// Attention that a list of layers does not tell of, as functions do its work: found by what
// stands around it and by parameters that no layer owns. Internal to estimate/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/described_job.hpp"

namespace carpool::estimate {

// `hidden`: parameters of no layer in the list.

// All of an attention of this width: queries, keys, values and the product behind them.
[[nodiscard]] std::int64_t attention_parameters(std::int64_t width);
// Behind this norm comes a whole one (Swin, torchvision's ViT): there is nothing between it and a
// dropout.
[[nodiscard]] bool attention_behind(std::span<const LayerLine> list,
                                    std::size_t norm,
                                    std::int64_t hidden);

// Of every head, for every pair of tokens, as a softmax or the dropout behind one has them.
[[nodiscard]] bool are_attention_weights(const LayerLine& line);
// Elements of the weights in windows of an image, as Swin transformers have them, for so many
// elements of the image.
[[nodiscard]] std::int64_t window_weights(std::int64_t elements, std::int64_t width);

// Weights of the queries, keys and values alone.
[[nodiscard]] std::int64_t projection_parameters(std::int64_t width);
// In front of this linear layer, which is the product behind an attention, the rest of one is
// missing (BEiT): there is nothing between it and the norm.
[[nodiscard]] bool projections_before(std::span<const LayerLine> list,
                                      std::size_t product,
                                      std::int64_t hidden);

}  // namespace carpool::estimate
