// A model from any file that describes it, recognised by name and content: a row or trace, an ONNX
// file, config.json (or a folder with one), or the text of a layer summary.
#pragma once

#include <filesystem>
#include <optional>

#include "base/result.hpp"
#include "estimate/readers/read_model.hpp"

namespace carpool::estimate {

// `weights`: a safetensors file or its index, for a config.json; nullopt: those in its folder, if
// any.
// `settings` gives resolution and sequence length to readers of files without shapes.
[[nodiscard]] Result<ReadModel> read_source(const std::filesystem::path& source,
                                            const std::optional<std::filesystem::path>& weights,
                                            const JobSettings& settings);

// The folder of a model ("org/name") in the download cache of Hugging Face; nothing: none.
[[nodiscard]] std::optional<std::filesystem::path> downloaded_model(std::string_view name);

}  // namespace carpool::estimate
