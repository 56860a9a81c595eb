// The usage of the API. The journal is read in slices, so that the scheduler never waits long.
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "serve/job_api.hpp"
#include "serve/scheduler_look.hpp"
#include "serve/usage/usage_table.hpp"

namespace carpool::serve {
namespace {

using nlohmann::json;

constexpr double kSliceSeconds = 0.01;      // on the scheduler's thread at once
constexpr double kMostUsageSeconds = 20.0;  // for the whole answer
constexpr std::size_t kReadEnds = 64;

Result<UsageBy> usage_by(const ApiQuery& query) {
  const std::string by = text_of(query, "by").value_or("user");
  if (by != "user" && by != "job") {
    return invalid_input(fmt::format("by: \"{}\" is neither user nor job", by));
  }
  return by == "user" ? UsageBy::User : UsageBy::Job;
}

// Adds the jobs up, a slice at a time. On the loop's thread.
class UsageSum {
 public:
  UsageSum(const store::SqliteJournal& journal, UsageTable& table)
      : journal_(journal), table_(table) {}

  // `since_s`: as the wall clock shows it.
  void begin(const schedule::Scheduler& scheduler,
             double since_s,
             double now_s,
             const ShownTime& shown) {
    span_ = {.from_s = now_s - (shown(now_s) - since_s), .until_s = now_s};
    place_ = {.ended_s = span_.from_s};
    for (const JobId id : scheduler.jobs()) {
      if (const JobRecord* job = scheduler.find(id); job != nullptr && !job->over()) {
        running_.insert(id);
        table_.add(*job,
                   usage_of(*job,
                            span_,
                            {.energy_joules = scheduler.energy_joules(id),
                             .peak_bytes = scheduler.peak_bytes(id)}));
      }
    }
  }

  // True: no job is left.
  Result<bool> slice(const schedule::Scheduler& scheduler) {
    const Stopwatch watch;
    while (watch.seconds() < kSliceSeconds) {
      const Result<std::vector<store::EndedPlace>> ends = journal_.ended_after(place_, kReadEnds);
      if (!ends || ends->empty()) {
        return ends.map([](const auto&) { return true; });
      }
      for (const store::EndedPlace& end : *ends) {
        if (const Result<void> added = add_ended(scheduler, end.id); !added) {
          return tl::unexpected(added.error());
        }
        place_ = end;
        if (watch.seconds() >= kSliceSeconds) {
          return false;
        }
      }
    }
    return false;
  }

  [[nodiscard]] const UsageSpan& span() const { return span_; }

 private:
  // A job that ended since begin() is counted already.
  Result<void> add_ended(const schedule::Scheduler& scheduler, JobId id) {
    if (running_.contains(id)) {
      return {};
    }
    if (const JobRecord* known = scheduler.find(id); known != nullptr) {
      table_.add(*known, usage_of(*known, span_));
      return {};
    }
    return journal_.record_of(id).map([&](const std::optional<JobRecord>& record) {
      if (record) {
        table_.add(*record, usage_of(*record, span_));
      }
    });
  }

  const store::SqliteJournal& journal_;
  UsageTable& table_;
  UsageSpan span_;
  store::EndedPlace place_;
  std::set<JobId> running_;
};

}  // namespace

ApiAnswer JobApi::usage(const Caller& caller, const ApiQuery& query) {
  const Result<UsageBy> by = usage_by(query);
  const auto since_s = number_of<double>(query, "since_s");
  if (!by || !since_s) {
    return error_answer(by ? since_s.error() : by.error());
  }
  UsageTable table(*by, caller);
  UsageSum sum(parts_.journal, table);
  const Stopwatch watch;
  bool begun = false;
  bool complete = false;
  while (!complete) {
    const Result<bool> done =
        look<bool>(parts_.loop, [&](schedule::Scheduler& scheduler, double now_s) {
          if (!begun) {
            sum.begin(scheduler, since_s->value_or(0.0), now_s, shown());
            begun = true;
          }
          return sum.slice(scheduler);
        });
    if (!done) {
      return error_answer(done.error());
    }
    complete = *done;
    if (!complete && watch.seconds() > kMostUsageSeconds) {
      return error_answer(invalid_input(fmt::format(
          "since_s: more jobs ended since then than are added up in {:g} s; name a later time",
          kMostUsageSeconds)));
    }
  }
  json view = table.view();
  view["version"] = 1;
  view["by"] = *by == UsageBy::User ? "user" : "job";
  view["since_s"] = since_s->value_or(0.0);
  view["until_s"] = shown()(sum.span().until_s);
  return json_answer(Result<json>(std::move(view)));
}

}  // namespace carpool::serve
