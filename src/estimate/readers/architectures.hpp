// The replayed architecture for each model_type of config.json.
#pragma once

#include <string_view>

namespace carpool::estimate {

struct Architecture {
  std::string_view model_type;
  std::string_view built_as;  // a TransformerType
  double widening = 1.0;      // factor on the bound; 1 where jobs of the type were measured
};

// nullptr: unknown.
[[nodiscard]] const Architecture* find_architecture(std::string_view model_type);

}  // namespace carpool::estimate
