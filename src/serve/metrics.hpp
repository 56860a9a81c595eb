// What Prometheus scrapes. Few families, in base units; no job label on what a GPU reports.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/job_event.hpp"
#include "schedule/scheduler.hpp"

namespace carpool::serve {

// Counts of values below bounds, as Prometheus wants them.
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds)
      : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}
  void add(double value);
  [[nodiscard]] std::string text(const std::string& name, const std::string& help) const;

 private:
  std::vector<double> bounds_;
  std::vector<std::uint64_t> counts_;  // the last: above all bounds
  double sum_ = 0.0;
};

// What has to be asked of the scheduler's own thread.
struct MetricsSnapshot {
  std::map<std::string, std::size_t> jobs_by_state{};
  struct Running {
    JobId job = 0;
    std::string user{};
    std::string job_class{};
    std::string mechanism{};
    std::vector<unsigned> gpus{};
  };
  std::vector<Running> running{};
  std::vector<GpuView> gpus{};
  bool draining = false;
};

[[nodiscard]] MetricsSnapshot take_metrics(const schedule::Scheduler& scheduler);

// Thread-safe.
class Metrics {
 public:
  Metrics();
  // `queued_s`: since when the job waited, for one that starts.
  void count(const JobEvent& event, double queued_s);
  void decision(double seconds);
  void request(int status);

  // The whole page.
  [[nodiscard]] std::string text(const MetricsSnapshot& now, const std::string& version) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> ends_;  // of attempts, by how
  std::map<int, std::uint64_t> requests_;      // by status
  std::uint64_t submitted_ = 0;
  std::uint64_t started_ = 0;
  std::uint64_t requeued_ = 0;
  Histogram wait_;
  Histogram decision_;
};

}  // namespace carpool::serve
