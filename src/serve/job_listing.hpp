// Many jobs at once: which, and as text.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/result.hpp"
#include "schedule/scheduler.hpp"
#include "serve/api_query.hpp"
#include "serve/caller.hpp"

namespace carpool::serve {

inline constexpr std::size_t kMostListed = 20'000;

struct ListQuery {
  std::set<std::string> states{};  // empty: all
  std::optional<std::string> user{};
  bool everybody = false;
  JobId after = 0;
  std::size_t most = 1000;
};

[[nodiscard]] Result<ListQuery> read_list_query(const ApiQuery& query);

// JSON; ten thousand jobs are a matter of milliseconds.
[[nodiscard]] std::string list_jobs(const schedule::Scheduler& scheduler,
                                    const ListQuery& wanted,
                                    const Caller& caller,
                                    double now_s);

}  // namespace carpool::serve
