// Which architecture of the replay stands for a model_type of a config.json.
#pragma once

#include <string_view>

namespace carpool::estimate {

struct Architecture {
  std::string_view model_type;
  std::string_view built_as;  // a TransformerType
  double widening = 1.0;      // of the bound: 1 where jobs of the type itself were measured
};

// nullptr: neither known nor a relative.
[[nodiscard]] const Architecture* find_architecture(std::string_view model_type);

}  // namespace carpool::estimate
