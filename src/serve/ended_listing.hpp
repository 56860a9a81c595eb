// Jobs that are over, as the journal knows them: which, and as JSON.
#pragma once

#include <span>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"
#include "serve/api_query.hpp"
#include "serve/caller.hpp"
#include "store/sqlite_journal.hpp"

namespace carpool::serve {

// The caller's own, unless the query says "all".
[[nodiscard]] Result<store::EndedJobQuery> read_ended_query(const ApiQuery& query,
                                                            const Caller& caller);

// A list. Others' names, reasons and commands are left out.
[[nodiscard]] nlohmann::json list_ended_jobs(std::span<const store::EndedJob> jobs,
                                             const Caller& caller);

}  // namespace carpool::serve
