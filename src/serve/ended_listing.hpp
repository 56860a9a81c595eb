// Ended jobs from the journal: the query and their JSON.
#pragma once

#include <span>
#include <string>

#include "base/result.hpp"
#include "base/server_clock.hpp"
#include "serve/api_query.hpp"
#include "serve/caller.hpp"
#include "store/sqlite_journal.hpp"

namespace carpool::serve {

// Only jobs of the caller, unless the query has "all".
[[nodiscard]] Result<store::EndedJobQuery> read_ended_query(const ApiQuery& query,
                                                            const Caller& caller);

// Appends JSON objects, with commas between them. Names, reasons and commands of other users' jobs
// are left out, unless the caller is an operator.
void add_ended_jobs(std::string& out,
                    std::span<const store::EndedJob> jobs,
                    const Caller& caller,
                    const ShownTime& shown = {});

// A JSON array that ends early where it has kMostPageBytes.
[[nodiscard]] Result<std::string> list_ended_jobs(const store::SqliteJournal& journal,
                                                  const store::EndedJobQuery& wanted,
                                                  const Caller& caller,
                                                  const ShownTime& shown = {});

}  // namespace carpool::serve
