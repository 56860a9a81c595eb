// Builds snapshots for the tests of policies; owns their GPUs and queue.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "core/placement_policy.hpp"

namespace carpool::policy {

inline constexpr std::uint64_t kTestGiB = std::uint64_t{1} << 30U;

class SnapshotBuilder {
 public:
  GpuView& gpu(std::uint64_t gib = 40) {
    GpuView view;
    view.index = static_cast<unsigned>(gpus_.size());
    view.memory_bytes = gib * kTestGiB;
    view.mps_possible = true;
    gpus_.push_back(view);
    return gpus_.back();
  }

  QueuedJob& job(const std::string& workload, std::optional<std::uint64_t> gib, unsigned gpus = 1) {
    QueuedJob queued{.job = static_cast<JobId>(jobs_.size()) + 1, .uid = 1, .workload = workload};
    queued.gpus = gpus;
    if (gib) {
      queued.need_bytes = *gib * kTestGiB;
    }
    jobs_.push_back(queued);
    return jobs_.back();
  }

  static Resident& resident(GpuView& view, const std::string& workload, std::uint64_t gib) {
    Resident made{.job = static_cast<JobId>(1000 + 10 * view.index + view.residents.size()),
                  .uid = 1,
                  .workload = workload,
                  .mechanism = ShareMechanism::Mps};
    made.reserved_bytes = gib * kTestGiB;
    made.used_bytes = gib * kTestGiB;
    view.used_bytes += made.used_bytes;
    view.residents.push_back(made);
    return view.residents.back();
  }

  // Valid until the builder changes.
  ClusterSnapshot snapshot() {
    flat_.assign(gpus_.begin(), gpus_.end());
    queue_.clear();
    for (const QueuedJob& queued : jobs_) {
      queue_.push_back(&queued);
    }
    return {.now_s = 1000.0, .gpus = flat_, .queue = queue_};
  }

  std::deque<GpuView>& gpus() { return gpus_; }
  std::deque<QueuedJob>& jobs() { return jobs_; }

 private:
  std::deque<GpuView> gpus_;  // references stay
  std::deque<QueuedJob> jobs_;
  std::vector<GpuView> flat_;
  std::vector<const QueuedJob*> queue_;
};

}  // namespace carpool::policy
