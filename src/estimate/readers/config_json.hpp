// config.json of a Hugging Face model. Architectures that the replay knows are built as they are;
// relatives of them as the nearest known one, with a wider bound and a note; others by what their
// keys tell, with a much wider bound. What has no blocks of attention is refused.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "estimate/readers/read_model.hpp"

namespace carpool::estimate {

[[nodiscard]] Result<ReadModel> parse_config_json(std::string_view text, std::string_view name);

}  // namespace carpool::estimate
