// The content of a new state file, and the check of an existing one.
#pragma once

#include <cstdint>
#include <string_view>
#include <sys/types.h>

#include "interpose/state/layout.hpp"
#include "interpose/state/state_file.hpp"

namespace carpool::interpose {

// Tells whether the bytes are a header of this layout for this GPU and user.
[[nodiscard]] StateError check_header(const StateHeader& header,
                                      std::uint64_t file_bytes,
                                      std::string_view gpu_uuid,
                                      uid_t owner);

// Writes the content if there is none, or a half-written one, then checks it.
[[nodiscard]] StateError prepare_content(const StateFile& file,
                                         std::string_view gpu_uuid,
                                         uid_t owner,
                                         StateFile::Missing missing);

// The kernel reserves the memory of this range now: a process that writes to a page of a mapping
// that cannot be had is killed.
[[nodiscard]] bool reserve_space(int descriptor, std::uint64_t from, std::uint64_t bytes);

}  // namespace carpool::interpose
