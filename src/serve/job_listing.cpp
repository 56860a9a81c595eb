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

// The first job of the array that this one is in; 0: it is in none.
JobId whole_array(const schedule::Scheduler& scheduler, JobId job) {
  const JobRecord* record = scheduler.find(job);
  return record == nullptr ? job : record->array_job().value_or(0);
}

// `wanted.array` is the first job of an array.
bool fits(const ListQuery& wanted, const JobRecord& job, const Caller& caller) {
  return (!wanted.array || (job.array_job() == wanted.array && caller.may_touch(job.owner))) &&
         (wanted.states.empty() || wanted.states.contains(std::string(name_of(job.state)))) &&
         (wanted.all_users || job.owner.uid == caller.uid) &&
         (!wanted.user || job.owner.user == *wanted.user);
}

std::vector<JobId> listed_jobs(const schedule::Scheduler& scheduler,
                               const ListQuery& wanted,
                               const Caller& caller) {
  std::vector<JobId> ids = scheduler.jobs();
  ids.erase(ids.begin(), std::ranges::upper_bound(ids, wanted.after));
  // From the latest on, so that only as many as are wanted are looked at.
  std::size_t left = wanted.last.value_or(ids.size());
  std::vector<JobId> found;
  for (auto id = ids.rbegin(); id != ids.rend() && left > 0; ++id) {
    const JobRecord* job = scheduler.find(*id);
    if (job != nullptr && fits(wanted, *job, caller)) {
      found.push_back(*id);
      --left;
    }
  }
  std::ranges::reverse(found);
  return found;
}

}  // namespace

Result<std::set<std::string>> state_set(std::string_view words) {
  static const std::vector<std::string_view> known = {"queued",
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
    if (std::ranges::find(known, state) == known.end()) {
      return invalid_input(unknown_name("state", state, known).message);
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
  const auto last = number_of<std::size_t>(query, "last");
  const auto array = number_of<JobId>(query, "array");
  for (const Error* problem : {after ? nullptr : &after.error(),
                               most ? nullptr : &most.error(),
                               last ? nullptr : &last.error(),
                               array ? nullptr : &array.error()}) {
    if (problem != nullptr) {
      return tl::unexpected(*problem);
    }
  }
  wanted.last = *last;
  wanted.array = *array;
  wanted.after = after->value_or(0);
  wanted.most = std::clamp<std::size_t>(most->value_or(wanted.most), 1, kMostListed);
  wanted.user = text_of(query, "user");
  wanted.all_users = flag_of(query, "all") || wanted.user || wanted.array;
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
                      ListQuery wanted,
                      const Caller& caller,
                      double now_s,
                      const ShownTime& shown) {
  std::string text = R"({"version":1,"jobs":[)";
  std::size_t count = 0;
  JobId last = 0;
  bool more = false;
  if (wanted.array) {
    wanted.array = whole_array(scheduler, *wanted.array);
  }
  for (const JobId id : listed_jobs(scheduler, wanted, caller)) {
    more = count == wanted.most || text.size() >= kMostPageBytes;
    if (more) {
      break;
    }
    text += count++ == 0 ? "" : ",";
    add_job_summary(text, scheduler, *scheduler.find(id), caller, now_s, shown);
    last = id;
  }
  text += more ? fmt::format(R"(],"next_after":{}}})", last) : "]}";
  return text;
}

}  // namespace carpool::serve
