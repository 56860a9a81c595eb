// The scheduler's surroundings in tests: a journal in memory, an executor whose runs end when the
// test ends them, a plain policy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text/memory_size.hpp"
#include "core/tests/memory_journal.hpp"
#include "schedule/scheduler.hpp"

namespace carpool::schedule {

inline constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

using StubJournal = MemoryJournal;

class StubExecutor final : public Executor {
 public:
  Launched launch(const LaunchSpec& spec) override {
    if (refuse_launch) {
      return tl::unexpected(RunExit{.end = RunEnd::NeverStarted, .detail = "no such program"});
    }
    if (running.size() >= most_running) {
      ++troubled;
      begun.insert(spec.run);
      return tl::unexpected(RunExit{.end = RunEnd::MachineTrouble, .scope = TroubleScope::Machine});
    }
    if (trouble && (!only_trouble_on || spec.gpu_indices.front() == *only_trouble_on)) {
      ++troubled;
      begun.insert(spec.run);
      return tl::unexpected(
          RunExit{.end = RunEnd::MachineTrouble, .detail = "no descriptor left", .scope = trouble});
    }
    launched_twice = launched_twice || !begun.insert(spec.run).second;
    running.insert_or_assign(spec.run, spec);
    if (!silent) {
      reports.push_back({.kind = RunReport::Kind::Running, .run = spec.run});
    }
    return {};
  }
  void stop(RunId run, StopMode mode) override { stops.emplace_back(run, mode); }
  void pause(RunId run) override { paused.insert(run); }
  void resume(RunId run) override { paused.erase(run); }
  std::vector<RunReport> take_reports() override { return std::exchange(reports, {}); }
  Result<FoundRun> find(const LaunchSpec& spec) override {
    if (unreadable.contains(spec.run)) {
      return fail(ErrorCode::Internal, "its folder cannot be read");
    }
    if (running.contains(spec.run)) {
      return FoundRun{.state = FoundRun::State::Running};
    }
    if (const auto exit = exits.find(spec.run); exit != exits.end()) {
      return FoundRun{.state = FoundRun::State::Ended, .exit = exit->second};
    }
    begun.insert(spec.run);  // its claim is taken
    return FoundRun{};
  }

  void end(RunId run, RunExit exit) {
    running.erase(run);
    exits.insert_or_assign(run, exit);
    reports.push_back({.kind = RunReport::Kind::Ended, .run = run, .exit = std::move(exit)});
  }

  std::map<RunId, LaunchSpec> running;
  std::map<RunId, RunExit> exits;
  std::set<RunId> begun;
  std::set<RunId> paused;
  std::set<RunId> unreadable;
  std::vector<std::pair<RunId, StopMode>> stops;
  std::vector<RunReport> reports;
  bool refuse_launch = false;
  std::optional<TroubleScope> trouble{};                               // launch() ends like this
  std::optional<unsigned> only_trouble_on{};                           // GPU
  std::size_t most_running = std::numeric_limits<std::size_t>::max();  // more is trouble
  int troubled = 0;
  bool silent = false;  // attempts are not reported as running
  bool launched_twice = false;
};

class StubInterference final : public InterferenceModel {
 public:
  [[nodiscard]] std::vector<double> progress(
      std::span<const InterferenceMember> group) const override {
    return std::vector<double>(group.size(), group.size() > 1 ? 0.5 : 1.0);
  }
  [[nodiscard]] std::optional<double> sm_active(const std::string& /*workload*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] bool knows(const std::string& /*workload*/) const override { return true; }
  [[nodiscard]] std::optional<WorkloadBelief> belief(
      const std::string& /*workload*/) const override {
    return processes > 1 ? std::optional(WorkloadBelief{.processes = processes}) : std::nullopt;
  }
  unsigned processes = 1;  // that every workload is known to have
};

// The first GPUs by index with enough free memory. Exclusive jobs, jobs on several GPUs and jobs of
// unknown need run alone; jobs of one user share by MPS, others by time slicing.
class StubPolicy final : public PlacementPolicy {
 public:
  [[nodiscard]] std::string_view name() const override { return "stub"; }
  [[nodiscard]] bool shares_several() const override { return several_share; }
  [[nodiscard]] PlacementDecision decide(const ClusterSnapshot& cluster,
                                         const InterferenceModel& /*interference*/) const override {
    ++calls;
    std::vector<Room> rooms;
    rooms.reserve(cluster.gpus.size());
    for (const GpuView& gpu : cluster.gpus) {
      rooms.push_back(room_of(gpu));
    }
    PlacementDecision decision;
    for (const QueuedJob* job : cluster.queue) {
      if (all_start) {
        decision.defer.push_back({.job = job->job, .constraint = Constraint::Machine});
      } else {
        place(*job, rooms, decision);
      }
    }
    for (Placement& placement : decision.place) {
      if (caps && placement.mechanism == ShareMechanism::Mps) {
        placement.cap_bytes = placement.reserve_bytes;
      }
    }
    decision.pause = std::exchange(pause, {});
    decision.resume = std::exchange(resume, {});
    decision.ask_again_s = std::exchange(ask_again_s, std::nullopt);
    const auto named = cluster.turns_at.value_or(std::span<const std::size_t>());
    turns_at.assign(named.begin(), named.end());
    for (const TurnQuestion& question : turns_again) {
      if (std::ranges::binary_search(turns_at, question.place)) {
        decision.turns_again.push_back(question);
      }
    }
    return decision;
  }

  mutable int calls = 0;
  bool caps = false;           // reservations are enforced
  bool several_share = false;  // it says so
  bool all_start = false;      // no job starts until those that start up have done so
  // Part of the next answer.
  mutable std::vector<Pause> pause{};
  mutable std::vector<Resume> resume{};
  mutable std::optional<double> ask_again_s{};
  std::vector<TurnQuestion> turns_again{};      // of each answer about these GPUs
  mutable std::vector<std::size_t> turns_at{};  // of the last question

 private:
  struct Room {
    const GpuView* view = nullptr;
    unsigned gpu = 0;
    std::uint64_t memory = 0;
    std::uint64_t left = 0;
    bool empty = true;
    bool closed = false;
    std::set<std::uint32_t> users{};
  };

  [[nodiscard]] static Room room_of(const GpuView& gpu) {
    Room room{.view = &gpu,
              .gpu = gpu.index,
              .memory = gpu.memory_bytes,
              .empty = gpu.residents.empty(),
              .closed = !gpu.unusable.empty()};
    std::uint64_t claimed = gpu.foreign_bytes;
    for (const Resident& resident : gpu.residents) {
      claimed += std::max(resident.reserved_bytes, resident.used_bytes);
      room.closed = room.closed || resident.exclusive || resident.several_gpus;
      room.users.insert(resident.uid);
    }
    room.left = gpu.memory_bytes - std::min(claimed, gpu.memory_bytes);
    return room;
  }

  static void place(const QueuedJob& job, std::vector<Room>& rooms, PlacementDecision& decision) {
    const bool alone = job.exclusive || job.gpus > 1 || !job.need_bytes;
    const std::uint64_t need = job.need_bytes.value_or(0);
    std::vector<Room*> chosen;
    for (Room& room : rooms) {
      if (chosen.size() < job.gpus && !room.closed && (room.empty || !alone) && room.left >= need &&
          passes(job.gpu_filter, *room.view)) {
        chosen.push_back(&room);
      }
    }
    if (chosen.size() < job.gpus) {
      decision.defer.push_back({.job = job.job,
                                .constraint = alone ? Constraint::Exclusive : Constraint::Memory,
                                .reason = fmt::format("no room for {}", gib_text(need))});
      return;
    }
    Placement placement{.job = job.job,
                        .mechanism = alone ? ShareMechanism::None : ShareMechanism::Mps};
    for (Room* room : chosen) {
      placement.gpus.push_back(room->gpu);
      placement.reserve_bytes = job.need_bytes.value_or(room->memory);
      room->left -= std::min(room->left, placement.reserve_bytes);
      room->empty = false;
      room->closed = alone;
      room->users.insert(job.uid);
      if (!alone && room->users.size() > 1) {
        placement.mechanism = ShareMechanism::TimeSlicing;
      }
    }
    decision.place.push_back(std::move(placement));
  }
};

inline std::vector<GpuView> stub_gpus(unsigned count, std::uint64_t memory = 40 * kGiB) {
  std::vector<GpuView> gpus;
  gpus.reserve(count);
  for (unsigned i = 0; i < count; ++i) {
    gpus.push_back({.index = i,
                    .uuid = fmt::format("GPU-{}", i),
                    .name = i % 2 == 0 ? "NVIDIA A100-SXM4-40GB" : "NVIDIA H200",
                    .memory_bytes = memory,
                    .mps_possible = true});
  }
  return gpus;
}

inline JobSpec stub_job(std::uint64_t gib, double runtime_s = 100.0) {
  JobSpec spec{.argv = {"train"}};
  if (gib > 0) {
    spec.mem_bytes = gib * kGiB;
  }
  spec.runtime_s = runtime_s;
  return spec;
}

class StubLearner final : public Learner {
 public:
  void saw(const GroupSeen& seen) override { groups.push_back(seen); }
  void ended(const RunSeen& run) override { runs.push_back(run); }

  std::vector<GroupSeen> groups{};
  std::vector<RunSeen> runs{};
};

// A scheduler with all of these.
struct StubServer {
  explicit StubServer(unsigned gpus = 1, const SchedulerSettings& chosen = {})
      : settings(chosen), count(gpus) {
    restart();
  }

  // As after `kill -9`: only journal and executor are left.
  void restart(double now_s = 0.0, const EnergyRecord& energy = {}) {
    scheduler = std::make_unique<Scheduler>(
        settings, stub_gpus(count), policy, interference, journal, executor, &learner);
    recovered = scheduler->recover(now_s, energy);
    flushed = scheduler->flush();
  }

  JobId submit(const JobSpec& spec, double now_s = 0.0, std::uint32_t uid = 1000) {
    const auto job = scheduler->submit(spec, {.uid = uid, .user = fmt::format("u{}", uid)}, now_s);
    refusal = job ? std::string() : job.error().message;
    return job.value_or(0);
  }
  void step(double now_s) {
    scheduler->step(now_s);
    flushed = scheduler->flush();
  }
  // Jobs on a GPU and their memory, in GiB.
  void see(const std::map<JobId, std::uint64_t>& used_gib, double now_s, unsigned gpu = 0) {
    GpuObservation observation{.gpu = gpu};
    for (const auto& [job, gib] : used_gib) {
      observation.jobs.push_back({.job = job, .bytes = gib * kGiB});
      observation.used_bytes += gib * kGiB;
    }
    scheduler->observe(observation, now_s);
    step(now_s);
  }
  void pause(JobId job, double now_s, PauseCause cause = PauseCause::Turn) {
    policy.pause = {{.job = job, .cause = cause, .reason = "others compute"}};
    scheduler->set_draining(scheduler->draining());  // asks the policy
    step(now_s);
  }
  void resume(JobId job, double now_s) {
    policy.resume = {{.job = job, .reason = "there is room"}};
    scheduler->set_draining(scheduler->draining());
    step(now_s);
  }
  [[nodiscard]] bool paused(JobId job) const {
    return executor.paused.contains({job, attempt(job)});
  }
  void end(JobId job, RunExit exit, double now_s) {
    executor.end({job, attempt(job)}, std::move(exit));
    step(now_s);
  }
  [[nodiscard]] const JobRecord& record(JobId job) const { return *scheduler->find(job); }
  [[nodiscard]] unsigned attempt(JobId job) const {
    return static_cast<unsigned>(record(job).attempts.size());
  }
  [[nodiscard]] bool runs(JobId job) const {
    return executor.running.contains({job, attempt(job)});
  }

  SchedulerSettings settings;
  unsigned count;
  StubJournal journal;
  StubExecutor executor;
  StubPolicy policy;
  StubInterference interference;
  StubLearner learner;
  std::unique_ptr<Scheduler> scheduler;
  Result<void> recovered;
  Result<void> flushed;
  std::string refusal;
};

}  // namespace carpool::schedule
