// Ended jobs from the journal: the query and their JSON.
#pragma once

#include <span>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"
#include "base/server_clock.hpp"
#include "serve/api_query.hpp"
#include "serve/caller.hpp"
#include "store/sqlite_journal.hpp"

namespace carpool::serve {

// Only jobs of the caller, unless the query has "all".
[[nodiscard]] Result<store::EndedJobQuery> read_ended_query(const ApiQuery& query,
                                                            const Caller& caller);

// Names, reasons and commands of other users' jobs are left out, unless the caller is an operator.
[[nodiscard]] nlohmann::json list_ended_jobs(std::span<const store::EndedJob> jobs,
                                             const Caller& caller,
                                             const ShownTime& shown = {});

}  // namespace carpool::serve
