// Models that are known by name: published configurations of Hugging Face models, and the layers of
// torchvision and timm models from a catalogue of measured rows.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "estimate/judge/rows.hpp"
#include "estimate/readers/read_model.hpp"

namespace carpool::estimate {

// "bert-base-uncased"; of "org/name" the last part counts. Nothing: unknown.
[[nodiscard]] std::optional<ReadModel> known_transformer(std::string_view name);

// From the catalogue; nothing: unknown.
[[nodiscard]] std::optional<ReadModel> known_network(const LayerCatalogue& catalogue,
                                                     std::string_view name);

}  // namespace carpool::estimate
