// The page that Prometheus scrapes. Every metric is one row of the table in metrics.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/job_event.hpp"
#include "schedule/scheduler.hpp"

namespace carpool::serve {

// What the page says about one metric; docs/api.md lists the same.
struct MetricInfo {
  std::string_view name;
  std::string_view type;  // gauge, counter, histogram
  std::vector<std::string_view> labels;
  std::string_view help;
};
[[nodiscard]] std::vector<MetricInfo> metric_list();

// Totals since the server started. Thread-safe.
class Metrics {
 public:
  Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;
  ~Metrics();

  // `queued_s`: when the job entered the queue.
  void count(const JobEvent& event, double queued_s);
  void decision(double seconds);
  void request(int status);
  // Of the disk of the state folder. `full`: no job starts.
  void disk(std::uint64_t total_bytes, std::uint64_t free_bytes, bool full);

  // The whole page. Called on the thread that owns the scheduler.
  [[nodiscard]] std::string text(const schedule::Scheduler& scheduler,
                                 std::string_view version) const;

 private:
  struct Totals;
  friend struct MetricSource;
  std::unique_ptr<Totals> totals_;
};

}  // namespace carpool::serve
