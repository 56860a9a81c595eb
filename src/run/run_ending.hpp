// How an attempt ended whose guard is gone.
#pragma once

#include "core/run.hpp"
#include "run/run_folder.hpp"

namespace carpool::run {

// What the guard left on disk says how. Where it left nothing, what still runs of the attempt is
// ended first: another attempt may follow at once. `same_boot`: the machine has not been restarted.
[[nodiscard]] RunExit conclude(const RunFolder& folder, bool same_boot);

}  // namespace carpool::run
