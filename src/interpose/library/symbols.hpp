// The functions of the driver API by number (driver_symbols.inc names them), and where the real
// ones are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interpose/library/driver_abi.hpp"

namespace carpool::interpose {

// NOLINTBEGIN(readability-identifier-naming,bugprone-macro-parentheses): names of the driver
enum class Symbol : std::uint32_t {
#define DRIVER_SYMBOL(NAME) NAME,
#include "interpose/library/driver_symbols.inc"
#undef DRIVER_SYMBOL
};

inline constexpr std::size_t kSymbols = 0
#define DRIVER_SYMBOL(NAME) +1
#include "interpose/library/driver_symbols.inc"
#undef DRIVER_SYMBOL
    ;
// NOLINTEND(readability-identifier-naming,bugprone-macro-parentheses)

// Address of each function of the real driver, or of code that finds it and goes on there.
extern "C" void* carpool_driver_slots[];  // NOLINT

// Calls the real function. Type is that of the wrapper of the same name.
template <class Type, class... Arguments>
inline Status call_real(Symbol symbol, Arguments... arguments) {
  void* const slot =
      __atomic_load_n(&carpool_driver_slots[static_cast<std::uint32_t>(symbol)], __ATOMIC_RELAXED);
  return reinterpret_cast<Type*>(slot)(arguments...);
}

}  // namespace carpool::interpose
