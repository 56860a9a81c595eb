// Metrics of the launch gate, for jobs with series of their own.
#include <fmt/format.h>

#include "serve/metrics/metric_source.hpp"

namespace carpool::serve {
namespace {

// Of the jobs on GPUs that report something.
template <class Read>
void each_gate(const MetricSource& from, const Read& read) {
  for (const JobId id : from.jobs) {
    if (const auto found = from.totals.gates.find(id); found != from.totals.gates.end()) {
      read(fmt::format("{}", id), found->second);
    }
  }
}

void read_requests(const MetricSource& from, Samples& out) {
  each_gate(from, [&](const std::string& id, const JobGate& gate) {
    if (gate.slo_ms) {
      out.add({id}, gate.requests);
    }
  });
}

void read_late_requests(const MetricSource& from, Samples& out) {
  each_gate(from, [&](const std::string& id, const JobGate& gate) {
    if (gate.slo_ms) {
      out.add({id}, gate.late_requests);
    }
  });
}

void read_latency(const MetricSource& from, Samples& out) {
  constexpr double kMsOfSecond = 1000.0;
  each_gate(from, [&](const std::string& id, const JobGate& gate) {
    if (gate.slo_ms && gate.p50_ms) {
      out.add({id, "0.5"}, *gate.p50_ms / kMsOfSecond);
    }
    if (gate.slo_ms && gate.tail_ms) {
      out.add({id, fmt::format("{}", gate.quantile)}, *gate.tail_ms / kMsOfSecond);
    }
  });
}

void read_slo(const MetricSource& from, Samples& out) {
  constexpr double kMsOfSecond = 1000.0;
  each_gate(from, [&](const std::string& id, const JobGate& gate) {
    if (gate.slo_ms) {
      out.add({id}, *gate.slo_ms / kMsOfSecond);
    }
  });
}

void read_held_seconds(const MetricSource& from, Samples& out) {
  each_gate(from, [&](const std::string& id, const JobGate& gate) {
    for (const JobGate::Hold& hold : gate.holds) {
      out.add({id, hold.reason}, hold.seconds);
    }
  });
}

void read_held_launches(const MetricSource& from, Samples& out) {
  each_gate(from, [&](const std::string& id, const JobGate& gate) {
    for (const JobGate::Hold& hold : gate.holds) {
      out.add({id, hold.reason}, hold.launches);
    }
  });
}

}  // namespace

std::vector<Metric> gate_metrics() {
  return {
      {{"carpool_job_slo_seconds", "gauge", {"job_id"}, "Latency that a job with an SLO keeps."},
       read_slo},
      {{"carpool_job_requests_total",
        "counter",
        {"job_id"},
        "Requests of a job with an SLO that have ended."},
       read_requests},
      {{"carpool_job_late_requests_total",
        "counter",
        {"job_id"},
        "Requests that took longer than the SLO of their job."},
       read_late_requests},
      {{"carpool_job_latency_seconds",
        "summary",
        {"job_id", "quantile"},
        "Latency of the last requests of a job with an SLO: the median and the quantile of its "
        "SLO."},
       read_latency},
      {{"carpool_job_held_seconds_total",
        "counter",
        {"job_id", "reason"},
        "Time that launches of a best-effort job waited for others, by reason."},
       read_held_seconds},
      {{"carpool_job_held_launches_total",
        "counter",
        {"job_id", "reason"},
        "Waits of launches of a best-effort job for others, by reason; one launch may wait for "
        "several."},
       read_held_launches},
  };
}

}  // namespace carpool::serve
