// Removes the outputs of ended jobs, the oldest first.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.hpp"
#include "serve/job_api.hpp"

namespace carpool::app {

// `runs`: the folders of attempts; only those of `journal` are looked at. `now_s`: seconds since
// 1970, by the clock that dates files.
[[nodiscard]] serve::PruneReport prune_outputs(const std::filesystem::path& runs,
                                               const std::string& journal,
                                               const serve::PruneRequest& wanted,
                                               double now_s);

}  // namespace carpool::app
