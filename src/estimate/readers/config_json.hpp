// config.json of a Hugging Face model. Known architectures are replayed as they are, related ones
// as the nearest known one with a wider bound and a note, others by the sizes in the file with a
// much wider bound. Models without attention blocks are refused.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "estimate/readers/read_model.hpp"

namespace carpool::estimate {

[[nodiscard]] Result<ReadModel> parse_config_json(std::string_view text, std::string_view name);

}  // namespace carpool::estimate
