#include "serve/metrics/metrics.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/job_names.hpp"
#include "serve/job_listing.hpp"
#include "serve/metrics/histogram.hpp"
#include "serve/metrics/metric_samples.hpp"
#include "serve/metrics/metric_source.hpp"

namespace carpool::serve {
namespace {

void read_jobs(const MetricSource& from, Samples& out) {
  for (const auto& [state, count] : count_jobs(from.scheduler).by_state) {
    out.add({state}, count);
  }
}

constexpr std::array kConstraints = {Constraint::Memory,
                                     Constraint::Interference,
                                     Constraint::Latency,
                                     Constraint::Exclusive,
                                     Constraint::GpuCount,
                                     Constraint::OtherUser,
                                     Constraint::Order,
                                     Constraint::NoGpu,
                                     Constraint::Machine};
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

void read_decisions(const MetricSource& from, Samples& out) {
  out.add({"started", "none"}, from.totals.started);
  for (const Constraint constraint : kConstraints) {
    const auto found = from.scheduler.deferrals_made().find(constraint);
    out.add({"deferred", name_of(constraint)},
            found == from.scheduler.deferrals_made().end() ? 0 : found->second);
  }
}

void read_waiting(const MetricSource& from, Samples& out) {
  const auto waiting = from.scheduler.deferred_now();
  for (const Constraint constraint : kConstraints) {
    const auto found = waiting.find(constraint);
    out.add({name_of(constraint)}, found == waiting.end() ? 0 : found->second);
  }
}

// Metrics of the server and its queue.
std::vector<Metric> server_metrics() {
  using From = const MetricSource&;
  return {
      {{"carpool_build_info", "gauge", {"version"}, "Always 1; the label is the version."},
       [](From from, Samples& out) { out.add({from.version}, 1); }},
      {{"carpool_draining", "gauge", {}, "1 while the server starts no jobs."},
       [](From from, Samples& out) { out.add({}, from.scheduler.draining() ? 1 : 0); }},
      {{"carpool_jobs", "gauge", {"state"}, "Jobs that have not ended, by state."}, read_jobs},
      {{"carpool_waiting_jobs",
        "gauge",
        {"constraint"},
        "Waiting jobs that the last decision was about, by what they wait for."},
       read_waiting},
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
      {{"carpool_decisions_total",
        "counter",
        {"outcome", "constraint"},
        "Decisions about a waiting job: started, or deferred by a constraint; a job that waits is "
        "counted at each decision."},
       read_decisions},
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
}

// The tables. A new metric is one row in one of them, and its row in docs/metrics.md.
const std::vector<Metric>& metrics() {
  static const std::vector<Metric> table = [] {
    std::vector<Metric> all = server_metrics();
    for (const auto& part : {gpu_metrics(), job_metrics(), gate_metrics()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return table;
}

std::vector<MetricInfo> infos(const std::vector<Metric>& table) {
  std::vector<MetricInfo> list;
  list.reserve(table.size());
  for (const Metric& metric : table) {
    list.push_back(metric.info);
  }
  return list;
}

// The oldest of the jobs on GPUs have series of their own: those of a job stay until it ends.
void choose_jobs(MetricSource& from) {
  std::set<JobId> on_gpus;
  for (const GpuView& gpu : from.scheduler.gpus()) {
    for (const Resident& resident : gpu.residents) {
      on_gpus.insert(resident.job);
    }
  }
  from.jobs.assign(on_gpus.begin(), on_gpus.end());
  from.jobs_left_out = from.jobs.size() - std::min(from.jobs.size(), kMostJobSeries);
  from.jobs.resize(from.jobs.size() - from.jobs_left_out);
}

// Readings that are older say nothing about the GPUs: the driver hangs.
std::span<const GpuReading> fresh_readings(const MetricTotals& totals) {
  constexpr double kOldS = 30.0;
  return totals.since_readings && totals.since_readings->seconds() < kOldS
             ? std::span(totals.readings)
             : std::span<const GpuReading>();
}

void add_page(std::string& page, const std::vector<Metric>& table, const MetricSource& from) {
  for (const Metric& metric : table) {
    Samples samples(metric.info);
    metric.read(from, samples);
    page += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{3}",
                        metric.info.name,
                        metric.info.help,
                        metric.info.type,
                        samples.text());
  }
}

}  // namespace

std::vector<MetricInfo> metric_list() {
  return infos(metrics());
}

std::vector<MetricInfo> dcgm_metric_list() {
  return infos(dcgm_metrics());
}

Metrics::Metrics() : totals_(std::make_unique<MetricTotals>()) {}
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

void Metrics::gpus(std::vector<GpuReading> readings) {
  const std::scoped_lock lock(totals_->mutex);
  totals_->readings = std::move(readings);
  totals_->since_readings.emplace();
}

void Metrics::use_dcgm_names(std::string host) {
  const std::scoped_lock lock(totals_->mutex);
  totals_->dcgm_host = std::move(host);
}

void Metrics::gates(std::vector<JobGate> seen) {
  const std::scoped_lock lock(totals_->mutex);
  std::set<JobId> running;
  for (JobGate& gate : seen) {
    running.insert(gate.job);
    totals_->gates.insert_or_assign(gate.job, std::move(gate));
  }
  // Of jobs that have ended, the oldest go first.
  for (auto gate = totals_->gates.begin();
       gate != totals_->gates.end() && totals_->gates.size() > kMostJobSeries;) {
    gate = running.contains(gate->first) ? std::next(gate) : totals_->gates.erase(gate);
  }
}

std::optional<JobGate> Metrics::gate_of(JobId job) const {
  const std::scoped_lock lock(totals_->mutex);
  const auto found = totals_->gates.find(job);
  return found == totals_->gates.end() ? std::nullopt : std::optional(found->second);
}

std::string Metrics::text(const schedule::Scheduler& scheduler,
                          std::string_view version,
                          const Caller& caller) const {
  const std::scoped_lock lock(totals_->mutex);
  MetricSource from{.scheduler = scheduler,
                    .totals = *totals_,
                    .version = version,
                    .caller = caller,
                    .gpus = fresh_readings(*totals_)};
  choose_jobs(from);
  std::string page;
  add_page(page, metrics(), from);
  if (totals_->dcgm_host) {
    add_page(page, dcgm_metrics(), from);
  }
  return page;
}

}  // namespace carpool::serve
