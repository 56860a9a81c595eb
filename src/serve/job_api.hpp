// The operations of the API, apart from HTTP: plain arguments in, status and text out. The
// scheduler is only used on its own thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/server_clock.hpp"
#include "serve/api_answer.hpp"
#include "serve/api_query.hpp"
#include "serve/caller.hpp"
#include "serve/event_hub.hpp"
#include "serve/fair_share.hpp"
#include "serve/metrics/metrics.hpp"
#include "serve/queue_memory.hpp"
#include "serve/scheduler_loop.hpp"
#include "serve/user_limits.hpp"
#include "store/sqlite_journal.hpp"

namespace carpool::serve {

enum class LogStream { Out, Err };

// How far a job has come.
struct LogState {
  unsigned attempts = 0;
  bool over = false;
};

// Which outputs of ended jobs to remove: the older ones, and the oldest until no more than this is
// kept.
struct PruneRequest {
  std::optional<double> older_than_s{};
  std::optional<std::uint64_t> keep_bytes{};
  bool dry_run = false;                // only says what it would remove
  std::optional<std::uint32_t> uid{};  // only of this user
  std::set<JobId> not_ended{};         // jobs whose outputs stay
  JobId last_job = 0;                  // outputs of later jobs stay, too
};
struct PruneReport {
  std::vector<RunId> removed{};
  std::uint64_t bytes = 0;
  std::uint64_t kept_bytes = 0;  // of ended jobs
};

// Processes of a job descend from its supervisor or are in its session.
struct JobPids {
  JobId job = 0;
  pid_t supervisor = 0;
  pid_t session = 0;
};

struct ApiParts {
  SchedulerLoop& loop;
  store::SqliteJournal& journal;  // used on the loop's thread only
  EventHub& events;
  Metrics& metrics;
  // The output file of an attempt; empty where output is not kept.
  std::function<std::filesystem::path(RunId, LogStream)> log_file{};
  std::string version{};
  std::string mode{};  // "gpus", "simulated"
  std::string policy{};
  bool library = false;  // jobs that share run with the library in front of the driver
  double started_s = 0.0;
  UserLimits limits{};
  std::function<ShownTime()> shown{};  // empty: times are shown as they are
  // Makes a drain by this user durable and returns since when it is, for people; no user: makes its
  // end durable. Empty: a drain ends with the server.
  std::function<Result<std::string>(std::optional<std::string> by)> keep_drain{};
  std::function<PruneReport(const PruneRequest&)> prune{};  // empty: outputs are not kept
  // What was learned of the workloads of a user, or of all users; used on the loop's thread only.
  std::function<nlohmann::json(std::optional<std::uint32_t> uid)> knowledge{};
  // Of the jobs that run; used on the loop's thread only. Empty: they have no processes.
  std::function<std::vector<JobPids>()> pids{};
};

// Thread-safe.
class JobApi {
 public:
  explicit JobApi(ApiParts parts) : parts_(std::move(parts)) {}

  // "hold" in the query: the jobs wait until they are released.
  [[nodiscard]] ApiAnswer submit(const Caller& caller,
                                 std::string_view body,
                                 const ApiQuery& query = {});
  // What submit() would lead to; changes nothing.
  [[nodiscard]] ApiAnswer dry_run(const Caller& caller,
                                  std::string_view body,
                                  const ApiQuery& query = {});
  [[nodiscard]] ApiAnswer list(const Caller& caller, const ApiQuery& query);
  [[nodiscard]] ApiAnswer show(const Caller& caller, JobId job);
  [[nodiscard]] ApiAnswer explain(const Caller& caller, JobId job);
  // Answers when the job has ended, or after `wait_s` of the query with its state then.
  [[nodiscard]] ApiAnswer wait(const Caller& caller, JobId job, const ApiQuery& query);
  [[nodiscard]] ApiAnswer logs(const Caller& caller, JobId job, const ApiQuery& query);
  // cancel, hold, release, requeue
  [[nodiscard]] ApiAnswer act(const Caller& caller, JobId job, const std::string& verb);
  // Changes what a job requests: time_s, mem, priority, class.
  [[nodiscard]] ApiAnswer update(const Caller& caller, JobId job, std::string_view body);
  [[nodiscard]] ApiAnswer gpus(const Caller& caller);
  [[nodiscard]] ApiAnswer history(const Caller& caller, const ApiQuery& query);
  // GPU time, memory and energy by user or by job, from the time `since_s` of the query on.
  [[nodiscard]] ApiAnswer usage(const Caller& caller, const ApiQuery& query);
  [[nodiscard]] ApiAnswer knowledge(const Caller& caller, const ApiQuery& query);
  [[nodiscard]] ApiAnswer drain(const Caller& caller, std::string_view body);
  [[nodiscard]] ApiAnswer prune(const Caller& caller, std::string_view body);
  // Fills in which jobs have ended.
  [[nodiscard]] Result<PruneReport> prune_outputs(PruneRequest wanted);
  [[nodiscard]] ApiAnswer status();
  [[nodiscard]] ApiAnswer metrics(const Caller& caller);
  [[nodiscard]] ApiAnswer healthy();

  [[nodiscard]] EventHub& events() { return parts_.events; }
  // Memory for bodies of requests and for answers.
  [[nodiscard]] FairShare& memory() { return memory_; }
  void count(int status) { parts_.metrics.request(status); }

 private:
  [[nodiscard]] static ApiAnswer memory_in_use();
  [[nodiscard]] FairShare::Held hold_for_parsing(const Caller& caller, std::string_view body);
  // The jobs of a submission that this caller may make.
  [[nodiscard]] Result<std::vector<JobSpec>> read_submission(const Caller& caller,
                                                             std::string_view body) const;
  // A job of the caller, or any job for an operator; from memory or the journal. On the loop's
  // thread.
  [[nodiscard]] Result<JobRecord> own_job(schedule::Scheduler& scheduler,
                                          const Caller& caller,
                                          JobId job) const;
  [[nodiscard]] Result<LogState> state_of(const Caller& caller, JobId job);

  // The present as people see it, and a time of theirs by the scheduler's clock.
  [[nodiscard]] double wall_clock_s() const;
  [[nodiscard]] std::optional<double> scheduler_time(const std::optional<double>& wall_s) const;
  [[nodiscard]] ShownTime shown() const { return parts_.shown ? parts_.shown() : ShownTime(); }

  ApiParts parts_;
  FairShare memory_{std::size_t{96} << 20U, std::size_t{32} << 20U};
  FairShare parsing_{std::size_t{64} << 20U, std::size_t{24} << 20U};  // JSON of requests
  QueueMemory queue_memory_;  // used on the loop's thread only
};

}  // namespace carpool::serve
