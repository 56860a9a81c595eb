// Whether bytes are text that can be printed and put into JSON. Internal to dataset/.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace carpool::dataset {

struct TextProblem {
  std::size_t line = 0;  // counted from 1
  std::string what;
};

// The first byte that is not UTF-8, or a control character other than tab and line ends (a NUL byte
// is the usual sign of UTF-16 or of a binary file).
[[nodiscard]] std::optional<TextProblem> find_text_problem(std::string_view text);

}  // namespace carpool::dataset
