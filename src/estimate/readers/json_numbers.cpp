#include "estimate/readers/json_numbers.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace carpool::estimate {

std::int64_t JsonNumbers::first_of(std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const auto found = object_.find(key);
    if (found == object_.end() || found->is_null()) {
      continue;
    }
    const bool whole =
        found->is_number_integer() &&
        (!found->is_number_unsigned() || found->get<std::uint64_t>() <= std::uint64_t{kMaxCount});
    const std::int64_t value = whole ? found->get<std::int64_t>() : -1;
    if (value >= 0 && value <= kMaxCount) {
      return value;
    }
    if (!error_) {
      constexpr std::size_t kShown = 40;
      error_ =
          Error{ErrorCode::InvalidInput,
                fmt::format("{}: \"{}\" is {}; a whole number of at most 10^12 is expected",
                            where_,
                            key,
                            found->dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)
                                .substr(0, kShown))};
    }
    return 0;
  }
  return 0;
}

}  // namespace carpool::estimate
