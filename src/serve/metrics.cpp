#include "serve/metrics.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/job_names.hpp"

namespace carpool::serve {
namespace {

std::string head(const char* name, const char* kind, const char* help) {
  return fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, kind);
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\\' || c == '"') {
      safe += '\\';
    }
    if (c == '\n') {
      safe += "\\n";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string gpu_lines(const std::vector<GpuView>& gpus) {
  std::string text = head(
      "carpool_gpu_memory_bytes", "gauge", "Memory of a GPU: total, used, foreign, unclaimed.");
  for (const GpuView& gpu : gpus) {
    for (const auto& [kind, bytes] : {std::pair("total", gpu.memory_bytes),
                                      std::pair("used", gpu.used_bytes),
                                      std::pair("foreign", gpu.foreign_bytes),
                                      std::pair("unclaimed", gpu.free_bytes())}) {
      text += fmt::format("carpool_gpu_memory_bytes{{gpu=\"{}\",uuid=\"{}\",kind=\"{}\"}} {}\n",
                          gpu.index,
                          escaped(gpu.uuid),
                          kind,
                          bytes);
    }
  }
  text += head("carpool_gpu_jobs", "gauge", "Jobs of ours on a GPU.");
  for (const GpuView& gpu : gpus) {
    text += fmt::format("carpool_gpu_jobs{{gpu=\"{}\"}} {}\n", gpu.index, gpu.residents.size());
  }
  text += head("carpool_gpu_usable", "gauge", "1 where jobs may be placed.");
  for (const GpuView& gpu : gpus) {
    text += fmt::format(
        "carpool_gpu_usable{{gpu=\"{}\"}} {}\n", gpu.index, gpu.unusable.empty() ? 1 : 0);
  }
  text += head("carpool_gpu_sm_active_ratio", "gauge", "Share of the SMs at work, last window.");
  for (const GpuView& gpu : gpus) {
    if (gpu.pressure) {
      text += fmt::format(
          "carpool_gpu_sm_active_ratio{{gpu=\"{}\"}} {}\n", gpu.index, gpu.pressure->sm_active);
    }
  }
  return text;
}

std::string job_lines(const MetricsSnapshot& now) {
  std::string text = head("carpool_jobs", "gauge", "Jobs that have not ended, by state.");
  for (const auto& [state, count] : now.jobs_by_state) {
    text += fmt::format("carpool_jobs{{state=\"{}\"}} {}\n", state, count);
  }
  text += head("carpool_job_info", "gauge", "1 for each job on a GPU, to join with others.");
  for (const MetricsSnapshot::Running& job : now.running) {
    text += fmt::format(
        "carpool_job_info{{job=\"{}\",user=\"{}\",class=\"{}\",share=\"{}\",gpu=\"{}\"}} 1\n",
        job.job,
        escaped(job.user),
        job.job_class,
        job.mechanism,
        fmt::join(job.gpus, ","));
  }
  return text;
}

}  // namespace

void Histogram::add(double value) {
  const auto place = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  ++counts_[static_cast<std::size_t>(place)];
  sum_ += value;
}

std::string Histogram::text(const std::string& name, const std::string& help) const {
  std::string lines = head(name.c_str(), "histogram", help.c_str());
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    total += counts_[i];
    lines += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, bounds_[i], total);
  }
  total += counts_.back();
  return lines +
         fmt::format(
             "{0}_bucket{{le=\"+Inf\"}} {1}\n{0}_sum {2}\n{0}_count {1}\n", name, total, sum_);
}

MetricsSnapshot take_metrics(const schedule::Scheduler& scheduler) {
  MetricsSnapshot now;
  for (const JobState state :
       {JobState::Queued, JobState::Held, JobState::Running, JobState::Stopping}) {
    now.jobs_by_state[std::string(name_of(state))] = 0;
  }
  for (const JobId id : scheduler.jobs()) {
    const JobRecord* job = scheduler.find(id);
    if (job == nullptr || job->over()) {
      continue;
    }
    ++now.jobs_by_state[std::string(name_of(job->state))];
    if (const JobAttempt* running = job->running(); running != nullptr) {
      now.running.push_back({.job = id,
                             .user = job->owner.user,
                             .job_class = std::string(name_of(job->spec.job_class)),
                             .mechanism = std::string(name_of(running->start.mechanism)),
                             .gpus = running->start.gpus});
    }
  }
  now.gpus.assign(scheduler.gpus().begin(), scheduler.gpus().end());
  now.draining = scheduler.draining();
  return now;
}

Metrics::Metrics()
    : wait_({1, 5, 15, 60, 300, 900, 3600, 14400, 86400}),
      decision_({0.0001, 0.0005, 0.001, 0.005, 0.02, 0.1, 0.5, 2}) {}

void Metrics::count(const JobEvent& event, double queued_s) {
  const std::scoped_lock lock(mutex_);
  if (std::holds_alternative<JobSubmitted>(event.what)) {
    ++submitted_;
  } else if (std::holds_alternative<JobStarted>(event.what)) {
    ++started_;
    wait_.add(std::max(0.0, event.at_s - queued_s));
  } else if (std::holds_alternative<JobRequeued>(event.what)) {
    ++requeued_;
  } else if (const auto* ended = std::get_if<JobEnded>(&event.what)) {
    ++ends_[std::string(name_of(ended->exit.end))];
  }
}

void Metrics::decision(double seconds) {
  const std::scoped_lock lock(mutex_);
  decision_.add(seconds);
}

void Metrics::request(int status) {
  const std::scoped_lock lock(mutex_);
  ++requests_[status];
}

std::string Metrics::text(const MetricsSnapshot& now, const std::string& version) const {
  const std::scoped_lock lock(mutex_);
  std::string page = head("carpool_build_info", "gauge", "1, with the version.");
  page += fmt::format("carpool_build_info{{version=\"{}\"}} 1\n", escaped(version));
  page += head("carpool_draining", "gauge", "1 while no job is started.");
  page += fmt::format("carpool_draining {}\n", now.draining ? 1 : 0);
  page += job_lines(now);
  page += gpu_lines(now.gpus);
  page += head("carpool_submissions_total", "counter", "Jobs accepted since the server started.");
  page += fmt::format("carpool_submissions_total {}\n", submitted_);
  page += head("carpool_starts_total", "counter", "Attempts begun.");
  page += fmt::format("carpool_starts_total {}\n", started_);
  page += head("carpool_requeues_total", "counter", "Jobs put back into the queue.");
  page += fmt::format("carpool_requeues_total {}\n", requeued_);
  page += head("carpool_ends_total", "counter", "Attempts ended, by how.");
  for (const auto& [end, count] : ends_) {
    page += fmt::format("carpool_ends_total{{end=\"{}\"}} {}\n", end, count);
  }
  page += head("carpool_requests_total", "counter", "HTTP requests answered, by status.");
  for (const auto& [status, count] : requests_) {
    page += fmt::format("carpool_requests_total{{status=\"{}\"}} {}\n", status, count);
  }
  page += wait_.text("carpool_queue_wait_seconds", "Time in the queue of jobs that started.");
  page += decision_.text("carpool_decision_seconds", "Time that one decision took.");
  return page;
}

}  // namespace carpool::serve
