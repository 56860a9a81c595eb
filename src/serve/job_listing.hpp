// Lists of jobs: the query, the JSON text, and counts.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/server_clock.hpp"
#include "schedule/scheduler.hpp"
#include "serve/api_query.hpp"
#include "serve/caller.hpp"
#include "store/sqlite_journal.hpp"

namespace carpool::serve {

inline constexpr std::size_t kMostListed = 20'000;
// A page ends where it has this many bytes: the name of a job may be long.
inline constexpr std::size_t kMostPageBytes = std::size_t{8} << 20U;

struct ListQuery {
  std::set<std::string> states{};  // empty: all
  std::optional<std::string> user{};
  bool all_users = false;
  std::optional<JobId> array{};  // only the array of this job
  JobId after = 0;
  std::size_t most = 1000;
  std::optional<std::size_t> last{};  // number of jobs: only the latest
};

// The states of "queued,running", "active", "ended"; an unknown word is an error.
[[nodiscard]] Result<std::set<std::string>> state_set(std::string_view words);
[[nodiscard]] Result<ListQuery> read_list_query(const ApiQuery& query);

// Jobs that have not ended.
struct JobCounts {
  std::map<std::string, std::size_t> by_state{};  // every state of such a job, also with 0
  std::size_t on_gpus = 0;
};
[[nodiscard]] JobCounts count_jobs(const schedule::Scheduler& scheduler);

// JSON text; ten thousand jobs take a few milliseconds.
[[nodiscard]] std::string list_jobs(const schedule::Scheduler& scheduler,
                                    const ListQuery& wanted,
                                    const Caller& caller,
                                    double now_s,
                                    const ShownTime& shown = {});
// The array of the job `wanted.array`, also of jobs that ended long ago.
[[nodiscard]] Result<std::string> list_array(const schedule::Scheduler& scheduler,
                                             const store::SqliteJournal& journal,
                                             ListQuery wanted,
                                             const Caller& caller,
                                             double now_s,
                                             const ShownTime& shown = {});

}  // namespace carpool::serve
