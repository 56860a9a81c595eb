// Tables of names for the values of an enumeration.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "base/text/names.hpp"

namespace carpool::estimate {

template <class Value>
struct NamedValue {
  std::string_view name;
  Value value;
};

// The error for an unknown name lists the known ones; `what` is "precision", "optimizer", …
template <class Value, std::size_t Count>
[[nodiscard]] Result<Value> find_value(const std::array<NamedValue<Value>, Count>& table,
                                       std::string_view what,
                                       std::string_view name) {
  return find_named(std::span<const NamedValue<Value>>(table), what, name)
      .map([](const NamedValue<Value>* found) { return found->value; });
}

}  // namespace carpool::estimate
