// The envelope of every model file, NAME.model.json: {format, version, kind, card, params, sha256}.
// The hash covers everything else, so that a truncated or edited file is told apart from a model.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"

namespace carpool::learn {

[[nodiscard]] std::string seal_model(std::string_view kind,
                                     const nlohmann::json& card,
                                     const nlohmann::json& params);

// kind, card and params of a whole envelope. `name` is what error messages call the text, `again`
// the command that makes such a file anew.
[[nodiscard]] Result<nlohmann::json> open_model(std::string_view text,
                                                std::string_view name,
                                                std::string_view again);

}  // namespace carpool::learn
