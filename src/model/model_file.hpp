// Throughput models as NAME.model.json, in the envelope of learn/model_envelope.hpp.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "model/throughput_model.hpp"

namespace carpool::model {

[[nodiscard]] std::string serialize_model(const ThroughputModel& model);

// `name` is the path of the file, for error messages.
[[nodiscard]] Result<std::unique_ptr<ThroughputModel>> parse_model(std::string_view text,
                                                                   std::string_view name);

[[nodiscard]] Result<void> save_model(const ThroughputModel& model,
                                      const std::filesystem::path& path);
[[nodiscard]] Result<std::unique_ptr<ThroughputModel>> load_model(
    const std::filesystem::path& path);

}  // namespace carpool::model
