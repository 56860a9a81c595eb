#include "serve/job_listing.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text/names.hpp"
#include "core/job_names.hpp"
#include "serve/job_view.hpp"

namespace carpool::serve {
namespace {

bool fits(const ListQuery& wanted, const JobRecord& job, const Caller& caller) {
  return (wanted.states.empty() || wanted.states.contains(std::string(name_of(job.state)))) &&
         (wanted.all_users || job.owner.uid == caller.uid) &&
         (!wanted.user || job.owner.user == *wanted.user);
}

}  // namespace

Result<std::set<std::string>> state_set(std::string_view words) {
  static const std::vector<std::string_view> kKnown = {"queued",
                                                       "held",
                                                       "running",
                                                       "stopping",
                                                       "succeeded",
                                                       "failed",
                                                       "cancelled",
                                                       "active",
                                                       "ended"};
  std::set<std::string> states;
  bool more = true;
  while (more) {
    const std::size_t comma = words.find(',');
    const std::string_view state = words.substr(0, comma);
    more = comma != std::string_view::npos;
    words.remove_prefix(more ? comma + 1 : words.size());
    if (std::ranges::find(kKnown, state) == kKnown.end()) {
      return invalid_input(unknown_name("state", state, kKnown).message);
    }
    if (state == "active") {
      states.insert({"queued", "held", "running", "stopping"});
    } else if (state == "ended") {
      states.insert({"succeeded", "failed", "cancelled"});
    } else {
      states.emplace(state);
    }
  }
  return states;
}

Result<ListQuery> read_list_query(const ApiQuery& query) {
  ListQuery wanted;
  const auto after = number_of<JobId>(query, "after");
  const auto most = number_of<std::size_t>(query, "limit");
  if (!after || !most) {
    return tl::unexpected(after ? most.error() : after.error());
  }
  wanted.after = after->value_or(0);
  wanted.most = std::clamp<std::size_t>(most->value_or(wanted.most), 1, kMostListed);
  wanted.user = text_of(query, "user");
  wanted.all_users = flag_of(query, "all") || wanted.user.has_value();
  const auto given = text_of(query, "state");
  if (!given) {
    return wanted;
  }
  return state_set(*given).map([&](std::set<std::string> states) {
    wanted.states = std::move(states);
    return wanted;
  });
}

JobCounts count_jobs(const schedule::Scheduler& scheduler) {
  JobCounts counts;
  for (const JobState state :
       {JobState::Queued, JobState::Held, JobState::Running, JobState::Stopping}) {
    counts.by_state[std::string(name_of(state))] = 0;
  }
  for (const JobId id : scheduler.jobs()) {
    if (const JobRecord* job = scheduler.find(id); job != nullptr && !job->over()) {
      ++counts.by_state[std::string(name_of(job->state))];
      counts.on_gpus += job->running() != nullptr ? 1 : 0;
    }
  }
  return counts;
}

std::string list_jobs(const schedule::Scheduler& scheduler,
                      const ListQuery& wanted,
                      const Caller& caller,
                      double now_s,
                      const ShownTime& shown) {
  std::string text = R"({"version":1,"jobs":[)";
  std::size_t count = 0;
  JobId last = 0;
  bool more = false;
  const std::vector<JobId> ids = scheduler.jobs();
  for (auto id = std::ranges::upper_bound(ids, wanted.after); id != ids.end() && !more; ++id) {
    const JobRecord* job = scheduler.find(*id);
    if (job == nullptr || !fits(wanted, *job, caller)) {
      continue;
    }
    more = count == wanted.most || text.size() >= kMostPageBytes;
    if (!more) {
      text += count++ == 0 ? "" : ",";
      add_job_summary(text, scheduler, *job, caller, now_s, shown);
      last = *id;
    }
  }
  text += more ? fmt::format(R"(],"next_after":{}}})", last) : "]}";
  return text;
}

}  // namespace carpool::serve
