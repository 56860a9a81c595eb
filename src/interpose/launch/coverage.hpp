// Whether the library stands in front of the driver of this machine, for `carpool doctor`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace carpool::interpose {

struct Coverage {
  std::string opened;               // the file that a program gets for libcuda.so.1
  int driver_version = 0;           // 13000 for CUDA 13.0; 0: it does not tell
  std::uint64_t asked = 0;          // look-ups of wrapped functions that the driver answers
  std::vector<std::string> missed;  // of these, where programs get the driver's own function
};

// For a process that was started with the library preloaded: asks for every wrapped name, in every
// CUDA version and for both kinds of default streams, and prints what it found. `driver` is the
// file of the real one. Returns the exit code.
[[nodiscard]] int print_coverage(const char* driver);

// Of what print_coverage() has printed.
[[nodiscard]] Coverage parse_coverage(std::string_view text);

}  // namespace carpool::interpose
