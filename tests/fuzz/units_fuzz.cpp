// Any bytes as a time, a size or a list of array indices: a value within its bounds, or an error
// with a message.
#include <algorithm>
#include <string_view>

#include "base/text/memory_size.hpp"
#include "serve/units.hpp"
#include "targets.hpp"

namespace carpool::fuzz {

void feed_units(std::string_view bytes) {
  if (const auto seconds = serve::parse_seconds(bytes)) {
    require(*seconds > 0.0 && !serve::show_seconds(*seconds).empty());
  } else {
    require(!seconds.error().message.empty());
  }
  if (const auto indices = serve::parse_array(bytes)) {
    require(!indices->empty() && std::ranges::is_sorted(*indices) && indices->front() >= 0);
  } else {
    require(!indices.error().message.empty());
  }
  if (const auto size = parse_memory_size(bytes)) {
    require(*size > 0 && !serve::show_bytes(*size).empty() && !gib_text(*size).empty());
  } else {
    require(!size.error().message.empty());
  }
}

}  // namespace carpool::fuzz
