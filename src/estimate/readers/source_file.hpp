// A model from whatever file describes it, told apart by name and content: a row or trace, an ONNX
// file, config.json (or a folder with one), or the text of a layer summary.
#pragma once

#include <filesystem>
#include <optional>

#include "base/result.hpp"
#include "estimate/readers/read_model.hpp"

namespace carpool::estimate {

// `weights`: a safetensors file or its index, beside a config.json; absent: those in its folder.
// `said` tells resolution and sequence to readers of files without shapes.
[[nodiscard]] Result<ReadModel> read_source(const std::filesystem::path& source,
                                            const std::optional<std::filesystem::path>& weights,
                                            const JobSettings& settings);

// The folder of a model that transformers has downloaded before ("org/name"); nothing: none.
[[nodiscard]] std::optional<std::filesystem::path> downloaded_model(std::string_view name);

}  // namespace carpool::estimate
