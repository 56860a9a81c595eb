#include "serve/metrics/metrics.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/job_names.hpp"
#include "serve/job_listing.hpp"
#include "serve/metrics/histogram.hpp"
#include "serve/metrics/metric_samples.hpp"

namespace carpool::serve {
struct Metrics::Totals {
  mutable std::mutex mutex{};
  std::uint64_t submitted = 0;
  std::uint64_t started = 0;
  std::uint64_t requeued = 0;
  std::map<std::string, std::uint64_t> ends{};  // of attempts, by outcome
  std::map<TroubleScope, std::uint64_t> troubles{};
  std::map<PauseCause, std::uint64_t> pauses{};
  std::map<int, std::uint64_t> requests{};  // by status
  std::uint64_t disk_total_bytes = 0;
  std::uint64_t disk_free_bytes = 0;
  bool disk_full = false;
  Histogram wait{{1, 5, 15, 60, 300, 900, 3600, 14400, 86400}};
  Histogram decision{{0.0001, 0.0005, 0.001, 0.005, 0.02, 0.1, 0.5, 2}};
};

// What a metric is read from.
struct MetricSource {
  const schedule::Scheduler& scheduler;
  const Metrics::Totals& totals;
  std::string_view version;
};

namespace {

template <class Read>
void for_each_gpu(const MetricSource& from, Read read) {
  for (const GpuView& gpu : from.scheduler.gpus()) {
    read(gpu, fmt::format("{}", gpu.index));
  }
}

void read_jobs(const MetricSource& from, Samples& out) {
  for (const auto& [state, count] : count_jobs(from.scheduler).by_state) {
    out.add({state}, count);
  }
}

void read_job_info(const MetricSource& from, Samples& out) {
  for (const JobId id : from.scheduler.jobs()) {
    const JobRecord* job = from.scheduler.find(id);
    const JobAttempt* running = job == nullptr ? nullptr : job->running();
    if (running != nullptr) {
      out.add({fmt::format("{}", id),
               job->owner.user,
               name_of(job->spec.job_class),
               name_of(running->start.mechanism),
               fmt::format("{}", fmt::join(running->start.gpus, ","))},
              1);
    }
  }
}

void read_gpu_memory(const MetricSource& from, Samples& out) {
  for_each_gpu(from, [&](const GpuView& gpu, const std::string& index) {
    for (const auto& [kind, bytes] : {std::pair("total", gpu.memory_bytes),
                                      std::pair("used", gpu.used_bytes),
                                      std::pair("foreign", gpu.foreign_bytes),
                                      std::pair("unclaimed", gpu.free_bytes())}) {
      out.add({index, gpu.uuid, kind}, bytes);
    }
  });
}

constexpr std::array kScopes = {
    TroubleScope::Job, TroubleScope::User, TroubleScope::Gpus, TroubleScope::Machine};

void read_start_pauses(const MetricSource& from, Samples& out) {
  for (const TroubleScope scope : kScopes) {
    double left_s = 0.0;
    for (const auto& [place, trouble] : from.scheduler.troubles()) {
      if (place.scope == scope) {
        left_s = std::max(left_s, trouble.until_s - from.scheduler.now_s());
      }
    }
    out.add({name_of(scope)}, left_s);
  }
}

// Jobs of each GPU, or those that are paused.
template <bool kPausedOnly>
void read_gpu_jobs(const MetricSource& from, Samples& out) {
  for_each_gpu(from, [&](const GpuView& gpu, const std::string& index) {
    out.add({index}, std::ranges::count_if(gpu.residents, [](const Resident& resident) {
              return !kPausedOnly || resident.phase == ResidentPhase::Paused;
            }));
  });
}

void read_gpu_usable(const MetricSource& from, Samples& out) {
  for_each_gpu(from, [&](const GpuView& gpu, const std::string& index) {
    out.add({index}, gpu.unusable.empty() ? 1 : 0);
  });
}

void read_gpu_sm_active(const MetricSource& from, Samples& out) {
  for_each_gpu(from, [&](const GpuView& gpu, const std::string& index) {
    if (gpu.pressure) {
      out.add({index}, gpu.pressure->sm_active);
    }
  });
}

void read_troubles(const MetricSource& from, Samples& out) {
  for (const TroubleScope scope : kScopes) {
    const auto found = from.totals.troubles.find(scope);
    out.add({name_of(scope)}, found == from.totals.troubles.end() ? 0 : found->second);
  }
}

void read_pauses(const MetricSource& from, Samples& out) {
  for (const PauseCause cause : {PauseCause::Turn, PauseCause::Interference, PauseCause::Memory}) {
    const auto found = from.totals.pauses.find(cause);
    out.add({name_of(cause)}, found == from.totals.pauses.end() ? 0 : found->second);
  }
}

struct Metric {
  MetricInfo info;
  void (*read)(const MetricSource& from, Samples& out);
};

// The table. A new metric is one row here, and its row in docs/api.md.
const std::vector<Metric>& metrics() {
  using From = const MetricSource&;
  static const std::vector<Metric> table = {
      {{"carpool_build_info", "gauge", {"version"}, "Always 1; the label is the version."},
       [](From from, Samples& out) { out.add({from.version}, 1); }},
      {{"carpool_draining", "gauge", {}, "1 while the server starts no jobs."},
       [](From from, Samples& out) { out.add({}, from.scheduler.draining() ? 1 : 0); }},
      {{"carpool_jobs", "gauge", {"state"}, "Jobs that have not ended, by state."}, read_jobs},
      {{"carpool_job_info",
        "gauge",
        {"job", "user", "class", "share", "gpu"},
        "1 for each job on a GPU, to join with other metrics."},
       read_job_info},
      {{"carpool_gpu_memory_bytes",
        "gauge",
        {"gpu", "uuid", "kind"},
        "Memory of a GPU: total, used, foreign, unclaimed."},
       read_gpu_memory},
      {{"carpool_gpu_jobs", "gauge", {"gpu"}, "Jobs on a GPU."}, read_gpu_jobs<false>},
      {{"carpool_gpu_usable", "gauge", {"gpu"}, "1 where jobs may be placed."}, read_gpu_usable},
      {{"carpool_gpu_sm_active_ratio",
        "gauge",
        {"gpu"},
        "Fraction of the SMs that were active in the last window."},
       read_gpu_sm_active},
      {{"carpool_submissions_total", "counter", {}, "Jobs accepted since the server started."},
       [](From from, Samples& out) { out.add({}, from.totals.submitted); }},
      {{"carpool_starts_total", "counter", {}, "Attempts started."},
       [](From from, Samples& out) { out.add({}, from.totals.started); }},
      {{"carpool_requeues_total", "counter", {}, "Jobs put back into the queue."},
       [](From from, Samples& out) { out.add({}, from.totals.requeued); }},
      {{"carpool_refused_placements_total",
        "counter",
        {},
        "Placements of the policy that the scheduler refused."},
       [](From from, Samples& out) { out.add({}, from.scheduler.refused_placements()); }},
      {{"carpool_ends_total", "counter", {"end"}, "Attempts ended, by outcome."},
       [](From from, Samples& out) {
         for (const auto& [end, count] : from.totals.ends) {
           out.add({end}, count);
         }
       }},
      {{"carpool_full_gpu_ends_total",
        "counter",
        {},
        "Attempts that ran out of memory below their cap, because their GPU was full."},
       [](From from, Samples& out) { out.add({}, from.scheduler.full_gpu_ends()); }},
      {{"carpool_pauses_total", "counter", {"cause"}, "Jobs paused, by cause."}, read_pauses},
      {{"carpool_paused_jobs", "gauge", {"gpu"}, "Jobs on a GPU that are paused now."},
       read_gpu_jobs<true>},
      {{"carpool_machine_troubles_total",
        "counter",
        {"scope"},
        "Attempts that the machine could not start, by what this affects."},
       read_troubles},
      {{"carpool_start_pause_seconds",
        "gauge",
        {"scope"},
        "Time until jobs start again where the machine could not start them; the longest."},
       read_start_pauses},
      {{"carpool_unknown_attempts",
        "gauge",
        {},
        "Attempts of before a restart of which it is not known whether they run."},
       [](From from, Samples& out) { out.add({}, from.scheduler.unknown_attempts()); }},
      {{"carpool_state_disk_bytes", "gauge", {"kind"}, "Disk of the state folder: total, free."},
       [](From from, Samples& out) {
         out.add({"total"}, from.totals.disk_total_bytes);
         out.add({"free"}, from.totals.disk_free_bytes);
       }},
      {{"carpool_state_disk_full",
        "gauge",
        {},
        "1 while no job starts because the disk of the state folder is full."},
       [](From from, Samples& out) { out.add({}, from.totals.disk_full ? 1 : 0); }},
      {{"carpool_requests_total", "counter", {"status"}, "HTTP requests answered, by status."},
       [](From from, Samples& out) {
         for (const auto& [status, count] : from.totals.requests) {
           out.add({fmt::format("{}", status)}, count);
         }
       }},
      {{"carpool_queue_wait_seconds", "histogram", {}, "Time in the queue of jobs that started."},
       [](From from, Samples& out) { out.add(from.totals.wait); }},
      {{"carpool_decision_seconds", "histogram", {}, "Duration of one scheduling decision."},
       [](From from, Samples& out) { out.add(from.totals.decision); }},
  };
  return table;
}

}  // namespace

std::vector<MetricInfo> metric_list() {
  std::vector<MetricInfo> list;
  for (const Metric& metric : metrics()) {
    list.push_back(metric.info);
  }
  return list;
}

Metrics::Metrics() : totals_(std::make_unique<Totals>()) {}
Metrics::~Metrics() = default;

void Metrics::count(const JobEvent& event, double queued_s) {
  const std::scoped_lock lock(totals_->mutex);
  if (std::holds_alternative<JobSubmitted>(event.what)) {
    ++totals_->submitted;
  } else if (std::holds_alternative<JobStarted>(event.what)) {
    ++totals_->started;
    totals_->wait.add(std::max(0.0, event.at_s - queued_s));
  } else if (std::holds_alternative<JobRequeued>(event.what)) {
    ++totals_->requeued;
  } else if (const auto* paused = std::get_if<JobPaused>(&event.what)) {
    ++totals_->pauses[paused->cause];
  } else if (const auto* ended = std::get_if<JobEnded>(&event.what)) {
    ++totals_->ends[std::string(name_of(ended->exit.end))];
    if (ended->exit.end == RunEnd::MachineTrouble) {
      ++totals_->troubles[ended->exit.scope.value_or(TroubleScope::Job)];
    }
  }
}

void Metrics::decision(double seconds) {
  const std::scoped_lock lock(totals_->mutex);
  totals_->decision.add(seconds);
}

void Metrics::disk(std::uint64_t total_bytes, std::uint64_t free_bytes, bool full) {
  const std::scoped_lock lock(totals_->mutex);
  totals_->disk_total_bytes = total_bytes;
  totals_->disk_free_bytes = free_bytes;
  totals_->disk_full = full;
}

void Metrics::request(int status) {
  const std::scoped_lock lock(totals_->mutex);
  ++totals_->requests[status];
}

std::string Metrics::text(const schedule::Scheduler& scheduler, std::string_view version) const {
  const std::scoped_lock lock(totals_->mutex);
  const MetricSource from{.scheduler = scheduler, .totals = *totals_, .version = version};
  std::string page;
  for (const Metric& metric : metrics()) {
    Samples samples(metric.info);
    metric.read(from, samples);
    page += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{3}",
                        metric.info.name,
                        metric.info.help,
                        metric.info.type,
                        samples.text());
  }
  return page;
}

}  // namespace carpool::serve
