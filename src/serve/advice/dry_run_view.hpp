// What a submission would lead to, as JSON. Of other users' jobs only the number and the user are
// sent.
#pragma once

#include <cstddef>

#include <nlohmann/json_fwd.hpp>

#include "schedule/advice/dry_run.hpp"
#include "serve/caller.hpp"

namespace carpool::serve {

// `jobs`: of the submission; the answer is about the first. `place`: whether the caller may have
// them.
[[nodiscard]] nlohmann::json dry_run_view(const schedule::DryRun& answer,
                                          const schedule::Scheduler& scheduler,
                                          const Caller& caller,
                                          std::size_t jobs,
                                          const Result<void>& place);

}  // namespace carpool::serve
