// Gives up root for good.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace carpool::run {

// Groups, group and user of this process, so that there is no way back.
[[nodiscard]] Result<void> become_user(std::uint32_t uid,
                                       std::uint32_t gid,
                                       const std::string& user);

}  // namespace carpool::run
