// The driver as a program reaches it: by one of three doors.
#pragma once

#include <optional>
#include <string>

#include "../abi/functions.hpp"

namespace fake_cuda {

enum class Door {
  Linked,  // ordinary linking
  Symbol,  // dlopen("libcuda.so.1") and dlsym of every name
  Lookup,  // dlopen, dlsym("cuGetProcAddress_v2"), and that for all others, as NVIDIA's runtime
           // does
};

// Every function of the driver; null if the driver has it not. Members have the names of the
// functions.
struct Api {
  // NOLINTBEGIN(readability-identifier-naming): the vendor's names
#define FAKE_CUDA_FUNCTION(name, lookup, version, twin, parameters) Result(*name) parameters;
#include "../abi/all.inc"
#undef FAKE_CUDA_FUNCTION
  // NOLINTEND(readability-identifier-naming)
};

// None: the door is not there, for example because the program is not linked to the driver.
[[nodiscard]] std::optional<Api> open_driver(Door door);
[[nodiscard]] std::optional<Door> door_named(const std::string& name);

}  // namespace fake_cuda
