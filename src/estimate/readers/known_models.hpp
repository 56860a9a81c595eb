// Models that people call by name: the published configuration of Hugging Face models, and the
// layers of torchvision's and timm's from a catalogue of measured rows.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "estimate/judge/rows.hpp"
#include "estimate/readers/read_model.hpp"

namespace carpool::estimate {

// "bert-base-uncased", "org/name" by its last part; nothing: not known.
[[nodiscard]] std::optional<ReadModel> known_transformer(std::string_view name);

// From a catalogue; nothing: not known.
[[nodiscard]] std::optional<ReadModel> known_network(const LayerCatalogue& catalogue,
                                                     std::string_view name);

}  // namespace carpool::estimate
