#include "serve/ended_listing.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/job_names.hpp"
#include "serve/job_listing.hpp"

namespace carpool::serve {
namespace {

using nlohmann::json;

constexpr std::size_t kMostCommands = 1000;  // each takes about 0.1 ms to read

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
  store::EndedJobQuery wanted{.before = *before,
                              .most = std::clamp<std::size_t>(
                                  most->value_or(100), 1, commands ? kMostCommands : kMostListed),
                              .with_specs = commands};
  if (!flag_of(query, "all")) {
    wanted.uid = caller.uid;
  }
  return wanted;
}

nlohmann::json list_ended_jobs(std::span<const store::EndedJob> jobs,
                               const Caller& caller,
                               const ShownTime& shown) {
  json list = json::array();
  for (const store::EndedJob& job : jobs) {
    list.push_back(ended_view(job, caller, shown));
  }
  return list;
}

}  // namespace carpool::serve
