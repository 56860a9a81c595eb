// The envelope of every model file, NAME.model.json: {format, version, kind, card, params, sha256}.
// The hash covers everything else, so that truncated and edited files are detected.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"

namespace carpool::learn {

[[nodiscard]] std::string seal_model(std::string_view kind,
                                     const nlohmann::json& card,
                                     const nlohmann::json& params);

// The envelope, with kind, card and params. In messages `name` is the name of the text and `again`
// the command that creates such a file.
[[nodiscard]] Result<nlohmann::json> open_model(std::string_view text,
                                                std::string_view name,
                                                std::string_view again);

}  // namespace carpool::learn
