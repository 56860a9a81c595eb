// The real libcuda.so.1, opened when the first function of it is needed.
#pragma once

#include "interpose/library/symbols.hpp"

namespace carpool::interpose {

// The address of a function in the real driver; null if the driver has none of that name, or if
// there is no driver.
[[nodiscard]] void* find_real(Symbol symbol);

[[nodiscard]] inline bool real_has(Symbol symbol) {
  return find_real(symbol) != nullptr;
}

}  // namespace carpool::interpose
