#include "interpose/library/settings.hpp"

#include <cstdlib>

#include "interpose/state/layout.hpp"

namespace carpool::interpose {

std::string_view setting(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

std::uint64_t number_setting(const char* name, std::uint64_t otherwise) {
  const std::string_view text = setting(name);
  std::uint64_t number = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9' || number > kMostBytes) {
      return otherwise;
    }
    number = number * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return text.empty() ? otherwise : number;
}

}  // namespace carpool::interpose
