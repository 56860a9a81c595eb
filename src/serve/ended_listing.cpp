#include "serve/ended_listing.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/job_names.hpp"
#include "serve/job_listing.hpp"

namespace carpool::serve {
namespace {

using nlohmann::json;

constexpr std::size_t kMostCommands = 1000;  // each takes about 0.1 ms to read
constexpr std::size_t kReadAtOnce = 1000;
constexpr std::size_t kCommandsAtOnce = 32;  // each has up to 64 KiB

// Where it ran last and how that attempt ended.
void add_last_attempt(json& view, const JobAttempt& last) {
  view["gpus"] = last.start.gpus;
  if (last.exit.code) {
    view["exit_code"] = *last.exit.code;
  }
  if (last.exit.signal) {
    view["signal"] = *last.exit.signal;
  }
}

json ended_view(const store::EndedJob& job, const Caller& caller, const ShownTime& shown) {
  json view = {{"id", job.id},
               {"user", job.owner.user},
               {"submitted_s", shown(job.submitted_s)},
               {"ended_s", shown(job.ended_s)},
               {"end", name_of(job.end)}};
  if (job.started_s) {
    view["started_s"] = shown(*job.started_s);
  }
  if (caller.may_touch(job.owner)) {
    view["name"] = job.name.empty() ? job.workload : job.name;
    view["reason"] = job.reason;
    if (job.peak_bytes) {
      view["peak_bytes"] = *job.peak_bytes;
    }
    if (job.failed_peak_bytes) {
      view["failed_peak_bytes"] = *job.failed_peak_bytes;
    }
    if (job.last_attempt) {
      add_last_attempt(view, *job.last_attempt);
    }
    if (job.spec) {
      view["argv"] = job.spec->argv;
      view["cwd"] = job.spec->cwd;
      view["gpu_count"] = job.spec->gpus;
    }
  }
  return view;
}

}  // namespace

Result<store::EndedJobQuery> read_ended_query(const ApiQuery& query, const Caller& caller) {
  const auto before = number_of<JobId>(query, "before");
  const auto most = number_of<std::size_t>(query, "limit");
  if (!before || !most) {
    return tl::unexpected(before ? most.error() : before.error());
  }
  const bool commands = flag_of(query, "commands");
  const bool attempts = flag_of(query, "attempts");
  store::EndedJobQuery wanted{
      .before = *before,
      .most = std::clamp<std::size_t>(
          most->value_or(100), 1, commands || attempts ? kMostCommands : kMostListed),
      .with_specs = commands,
      .with_attempts = attempts};
  if (!flag_of(query, "all")) {
    wanted.uid = caller.uid;
  }
  return wanted;
}

void add_ended_jobs(std::string& out,
                    std::span<const store::EndedJob> jobs,
                    const Caller& caller,
                    const ShownTime& shown) {
  for (const store::EndedJob& job : jobs) {
    out += out.empty() ? "" : ",";
    out += ended_view(job, caller, shown).dump(-1, ' ', false, json::error_handler_t::replace);
  }
}

Result<std::string> list_ended_jobs(const store::SqliteJournal& journal,
                                    const store::EndedJobQuery& wanted,
                                    const Caller& caller,
                                    const ShownTime& shown) {
  std::string text;
  std::size_t listed = 0;
  store::EndedJobQuery part = wanted;
  while (listed < wanted.most && text.size() < kMostPageBytes) {
    part.most = std::min(wanted.most - listed,
                         wanted.with_specs || wanted.with_attempts ? kCommandsAtOnce : kReadAtOnce);
    const Result<std::vector<store::EndedJob>> jobs = journal.ended_jobs(part);
    if (!jobs) {
      return tl::unexpected(jobs.error());
    }
    add_ended_jobs(text, *jobs, caller, shown);
    listed += jobs->size();
    if (jobs->size() < part.most) {
      break;
    }
    part.before = jobs->back().id;
  }
  return "[" + text + "]";
}

}  // namespace carpool::serve
