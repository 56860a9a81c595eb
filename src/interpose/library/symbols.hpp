// The functions of the driver API by number: driver_symbols.inc names them.
#pragma once

#include <cstdint>

namespace carpool::interpose {

enum class Symbol : std::uint32_t {
#define DRIVER_SYMBOL(NAME) NAME,
#include "interpose/library/driver_symbols.inc"
#undef DRIVER_SYMBOL
};

}  // namespace carpool::interpose
