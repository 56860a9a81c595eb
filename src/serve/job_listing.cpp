#include "serve/job_listing.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

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
  std::string_view states;
  const auto given = text_of(query, "state");
  if (given) {
    states = *given;
  }
  while (!states.empty()) {
    const std::size_t comma = states.find(',');
    const std::string_view state = states.substr(0, comma);
    states.remove_prefix(comma == std::string_view::npos ? states.size() : comma + 1);
    if (state == "active") {
      wanted.states.insert({"queued", "held", "running", "stopping"});
    } else if (state == "ended") {
      wanted.states.insert({"succeeded", "failed", "cancelled"});
    } else {
      wanted.states.emplace(state);
    }
  }
  return wanted;
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
