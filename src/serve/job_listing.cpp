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

constexpr std::size_t kMostReadAtOnce = 100;  // from the journal: the server stands still meanwhile

// `wanted.array` is empty or the first job of an array.
bool fits(const ListQuery& wanted, const JobRecord& job, const Caller& caller) {
  return (!wanted.array || (job.array_job() == wanted.array && caller.may_touch(job.owner))) &&
         (wanted.states.empty() || wanted.states.contains(std::string(name_of(job.state)))) &&
         (wanted.all_users || job.owner.uid == caller.uid) &&
         (!wanted.user || job.owner.user == *wanted.user);
}

// The text of the answer.
class Page {
 public:
  [[nodiscard]] bool is_full(const ListQuery& wanted) const {
    return count_ == wanted.most || text_.size() >= kMostPageBytes;
  }
  void looked_at(JobId job) { last_ = job; }
  // Where the job is written.
  [[nodiscard]] std::string& next(JobId job) {
    last_ = job;
    text_ += count_++ == 0 ? "" : ",";
    return text_;
  }
  [[nodiscard]] std::string take(bool more) {
    text_ += more ? fmt::format(R"(],"next_after":{}}})", last_) : "]}";
    return std::move(text_);
  }

 private:
  std::string text_ = R"({"version":1,"jobs":[)";
  std::size_t count_ = 0;
  JobId last_ = 0;
};

// The scheduler forgets jobs that ended long ago; the journal does not, but is slower.
class AllJobs {
 public:
  AllJobs(const schedule::Scheduler& scheduler, const store::SqliteJournal& journal)
      : scheduler_(scheduler), journal_(journal) {}

  // Null: there is no such job. Valid until the next call.
  [[nodiscard]] Result<const JobRecord*> find(JobId job) {
    if (const JobRecord* known = scheduler_.find(job)) {
      return known;
    }
    ++read_;
    return journal_.record_of(job).map([&](std::optional<JobRecord> record) {
      read_job_ = std::move(record);
      return read_job_ ? std::as_const(read_job_).operator->() : nullptr;
    });
  }
  [[nodiscard]] JobId last() const {
    const std::vector<JobId> known = scheduler_.jobs();
    return std::max(journal_.last_job().value_or(0), known.empty() ? 0 : known.back());
  }
  // Number of jobs that were read from the journal.
  [[nodiscard]] std::size_t read() const { return read_; }

 private:
  const schedule::Scheduler& scheduler_;
  const store::SqliteJournal& journal_;
  std::optional<JobRecord> read_job_;
  std::size_t read_ = 0;
};

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
                      const ListQuery& wanted,
                      const Caller& caller,
                      double now_s,
                      const ShownTime& shown) {
  Page page;
  bool more = false;
  for (const JobId id : listed_jobs(scheduler, wanted, caller)) {
    more = page.is_full(wanted);
    if (more) {
      break;
    }
    add_job_summary(page.next(id), scheduler, *scheduler.find(id), caller, now_s, shown);
  }
  return page.take(more);
}

Result<std::string> list_array(const schedule::Scheduler& scheduler,
                               const store::SqliteJournal& journal,
                               ListQuery wanted,
                               const Caller& caller,
                               double now_s,
                               const ShownTime& shown) {
  AllJobs jobs(scheduler, journal);
  const Result<const JobRecord*> named = jobs.find(*wanted.array);
  if (!named) {
    return tl::unexpected(named.error());
  }
  Page page;
  wanted.array = *named == nullptr ? std::nullopt : (*named)->array_job();
  const JobId last = wanted.array ? jobs.last() : 0;
  bool more = false;
  for (JobId id = std::max(wanted.array.value_or(0), wanted.after + 1); id <= last; ++id) {
    more = jobs.read() == kMostReadAtOnce || page.is_full(wanted);
    const Result<const JobRecord*> job = more ? nullptr : jobs.find(id);
    if (!job) {
      return tl::unexpected(job.error());
    }
    // The repair of a journal may have lost numbers in between.
    if (more || (*job != nullptr && (*job)->array_job() != wanted.array)) {
      break;
    }
    page.looked_at(id);
    if (*job != nullptr && fits(wanted, **job, caller)) {
      add_job_summary(page.next(id), scheduler, **job, caller, now_s, shown);
    }
  }
  return page.take(more);
}

}  // namespace carpool::serve
