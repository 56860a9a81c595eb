// GPUs on which the decisions of a policy are carried out, for tests of turns: a clock, phases of
// residents, and what was paused and resumed when. Jobs that start are seen on their GPU after a
// start-up time.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "policy/policy_registry.hpp"
#include "policy/tests/snapshot_builder.hpp"

namespace carpool::policy {

struct TurnChange {
  double at_s = 0.0;
  JobId job = 0;
  bool paused = false;  // else resumed
  PauseCause cause = PauseCause::Turn;
};

class TurnWorld {
 public:
  TurnWorld(const InterferenceModel& model, const PolicySettings& settings)
      : model_(model), policy_(*make_placement_policy("carpool", settings)) {}
  explicit TurnWorld(const InterferenceModel& model)
      : TurnWorld(model, default_settings("carpool")) {}

  GpuView& gpu(std::uint64_t gib) {
    GpuView view;
    view.index = static_cast<unsigned>(gpus_.size());
    view.memory_bytes = gib * kTestGiB;
    view.mps_possible = true;
    gpus_.push_back(view);
    return gpus_.back();
  }
  // References stay until the next one is added to the same GPU.
  Resident& resident(std::size_t gpu, JobId job, const std::string& workload) {
    Resident made{.job = job,
                  .uid = 1,
                  .workload = workload,
                  .mechanism = ShareMechanism::Mps,
                  .reserved_bytes = kTestGiB,
                  .phase_since_s = now_s};
    gpus_[gpu].residents.push_back(made);
    return gpus_[gpu].residents.back();
  }
  QueuedJob& queue(JobId job, const std::string& workload) {
    queued_.push_back({.job = job, .uid = 1, .workload = workload});
    return queued_.back();
  }

  [[nodiscard]] PlacementDecision decide() const {
    std::vector<const QueuedJob*> queue;
    queue.reserve(queued_.size());
    for (const QueuedJob& job : queued_) {
      queue.push_back(&job);
    }
    return policy_->decide({.now_s = now_s, .gpus = gpus_, .queue = queue}, model_);
  }

  // Decides and carries it out.
  PlacementDecision act() {
    PlacementDecision decision = decide();
    for (const Pause& pause : decision.pause) {
      Resident& resident = at(pause.job);
      EXPECT_EQ(resident.phase, ResidentPhase::Computing);
      EXPECT_FALSE(pause.reason.empty());
      set(resident, ResidentPhase::Paused);
      resident.paused_for = pause.cause;
      ++resident.pauses;
      changes.push_back({now_s, pause.job, true, pause.cause});
    }
    for (const Resume& resume : decision.resume) {
      EXPECT_EQ(at(resume.job).phase, ResidentPhase::Paused);
      EXPECT_FALSE(resume.reason.empty());
      set(at(resume.job), ResidentPhase::Computing);
      changes.push_back({.at_s = now_s, .job = resume.job});
    }
    for (const Placement& placement : decision.place) {
      start(placement);
    }
    return decision;
  }

  void advance(double by_s) {
    now_s += by_s;
    for (GpuView& gpu : gpus_) {
      for (Resident& resident : gpu.residents) {
        resident.computed_s += resident.phase == ResidentPhase::Computing ? by_s : 0.0;
      }
    }
    for (QueuedJob& job : queued_) {
      job.waited_s += by_s;
    }
  }
  void appear(JobId job) { set(at(job), ResidentPhase::Computing); }
  void end(JobId job) {
    for (GpuView& gpu : gpus_) {
      std::erase_if(gpu.residents, [&](const Resident& one) { return one.job == job; });
    }
  }
  [[nodiscard]] std::vector<JobId> in(ResidentPhase phase, std::size_t gpu = 0) const {
    std::vector<JobId> jobs;
    for (const Resident& resident : gpus_[gpu].residents) {
      if (resident.phase == phase) {
        jobs.push_back(resident.job);
      }
    }
    return jobs;
  }
  Resident& at(JobId job) {
    for (GpuView& gpu : gpus_) {
      for (Resident& resident : gpu.residents) {
        if (resident.job == job) {
          return resident;
        }
      }
    }
    ADD_FAILURE() << "job " << job << " is on no GPU";
    return gpus_.front().residents.front();
  }
  [[nodiscard]] const std::vector<GpuView>& gpus() const { return gpus_; }

  double now_s = 1000.0;
  std::vector<TurnChange> changes;

 private:
  void set(Resident& resident, ResidentPhase phase) const {
    resident.phase = phase;
    resident.phase_since_s = now_s;
  }
  void start(const Placement& placement) {
    const auto job = std::ranges::find(queued_, placement.job, &QueuedJob::job);
    ASSERT_NE(job, queued_.end());
    for (const unsigned gpu : placement.gpus) {
      Resident& made = resident(gpu, job->job, job->workload);
      made.mechanism = placement.mechanism;
      made.phase = ResidentPhase::Starting;
      made.started_s = now_s;
      made.reserved_bytes = placement.reserve_bytes;
      made.cap_bytes = placement.cap_bytes.value_or(0);
    }
    queued_.erase(job);
  }

  const InterferenceModel& model_;
  std::unique_ptr<PlacementPolicy> policy_;
  std::vector<GpuView> gpus_;
  std::vector<QueuedJob> queued_;
};

}  // namespace carpool::policy
