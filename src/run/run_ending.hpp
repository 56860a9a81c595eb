// How an attempt ended whose supervisor has ended.
#pragma once

#include "core/run.hpp"
#include "run/run_folder.hpp"

namespace carpool::run {

// Read from the exit file. Without one the attempt is lost: processes that are left of it are
// killed first, because another attempt may follow at once. `same_boot`: the machine was not
// restarted.
[[nodiscard]] RunExit conclude(const RunFolder& folder, bool same_boot);

}  // namespace carpool::run
