// Random and hostile policies against the scheduler: no rule of placement_guard.hpp is ever broken,
// and every refusal names the policy. 20,000 decisions of the same policies in every run; 100,000
// of others each time in a thorough one.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "base/log.hpp"
#include "base/tests/thorough.hpp"
#include "core/json/job_json.hpp"
#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

constexpr unsigned kHostileGpus = 4;
constexpr std::size_t kDecisions = 20'000;
constexpr std::size_t kThoroughDecisions = 100'000;
constexpr std::size_t kStepsOfALife = 400;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  // From 0 to below `sides`.
  std::uint64_t roll(std::uint64_t sides) { return engine_() % sides; }
  bool once_in(std::uint64_t sides) { return roll(sides) == 0; }
  template <class Value, std::size_t Size>
  Value pick(const std::array<Value, Size>& values) {
    return values[roll(Size)];
  }

 private:
  std::mt19937_64 engine_;
};

// Places most jobs as they request it, but anywhere, and many wrongly.
class HostilePolicy final : public PlacementPolicy {
 public:
  // Once in `honesty` a value is wrong on purpose.
  HostilePolicy(Dice& dice, std::uint64_t honesty) : dice_(dice), honesty_(honesty) {}

  [[nodiscard]] std::string_view name() const override { return "hostile"; }

  [[nodiscard]] PlacementDecision decide(const ClusterSnapshot& cluster,
                                         const InterferenceModel& /*interference*/) const override {
    ++decisions;
    PlacementDecision decision;
    for (const QueuedJob* job : cluster.queue) {
      placed[job->job] = !dice_.once_in(10);
      if (!placed[job->job] || dice_.once_in(20)) {
        decision.defer.push_back({.job = job->job, .reason = "not now"});
      }
      if (placed[job->job]) {
        decision.place.push_back(placement(*job));
      }
    }
    while (!decision.place.empty() && dice_.once_in(4)) {  // a job twice, or one that is not there
      Placement again = decision.place[dice_.roll(decision.place.size())];
      again.job = dice_.once_in(2) ? again.job : static_cast<JobId>(dice_.roll(2000));
      decision.place.push_back(again);
    }
    if (dice_.once_in(5)) {
      decision.ask_again_s =
          dice_.pick(std::array{-1.0, 0.5, std::nan(""), std::numeric_limits<double>::infinity()});
    }
    return decision;
  }

  mutable std::size_t decisions = 0;
  // Whether the last answer about a job was a placement.
  mutable std::map<JobId, bool> placed;

 private:
  [[nodiscard]] bool wrong() const { return dice_.once_in(honesty_); }

  [[nodiscard]] Placement placement(const QueuedJob& job) const {
    Placement made{.job = job.job};
    const std::size_t count = wrong() ? dice_.roll(4) : job.gpus;
    for (std::size_t i = 0; i < count; ++i) {
      // May be one GPU twice, or one that does not exist.
      made.gpus.push_back(static_cast<unsigned>(dice_.roll(kHostileGpus + (wrong() ? 3 : 0))));
    }
    made.mechanism = dice_.pick(
        std::array{ShareMechanism::Mps, ShareMechanism::Mps, ShareMechanism::TimeSlicing});
    if (!wrong() && (job.exclusive || job.gpus > 1)) {
      made.mechanism = ShareMechanism::None;
    }
    made.reserve_bytes = job.need_bytes.value_or(40 * kGiB);
    if (wrong()) {
      made.reserve_bytes =
          dice_.pick(std::array<std::uint64_t, 5>{0,
                                                  1,
                                                  made.reserve_bytes / 2,
                                                  made.reserve_bytes + kGiB,
                                                  std::numeric_limits<std::uint64_t>::max()});
    }
    if (wrong()) {
      made.thread_limit = dice_.pick(std::array{-20.0, 0.0, 50.0, 100.1, std::nan("")});
      made.progress =
          dice_.pick(std::array{-1.0, 0.5, std::nan(""), std::numeric_limits<double>::infinity()});
    }
    return made;
  }

  Dice& dice_;
  std::uint64_t honesty_;
};

class HostileLife {
 public:
  explicit HostileLife(std::uint64_t seed)
      : crowded_(seed % 4 == 0),
        dice_(seed),
        policy_(dice_, 2 + seed % 30),
        scheduler_({.reservation = {.most_s = 50.0}, .depth = 12},
                   gpus(),
                   policy_,
                   interference_,
                   journal_,
                   executor_) {}

  void play() {
    for (std::size_t step = 0; step < kStepsOfALife && !testing::Test::HasFailure(); ++step) {
      now_ += 1.0 + static_cast<double>(dice_.roll(20));
      act();
      scheduler_.set_draining(false);  // everything is looked at again
      scheduler_.step(now_);
      ASSERT_TRUE(scheduler_.flush().has_value());
      for (const GpuView& gpu : scheduler_.gpus()) {
        check(gpu);
      }
      check_attempts();
      check_refusals();
    }
  }

  [[nodiscard]] std::size_t decisions() const { return policy_.decisions; }
  [[nodiscard]] std::size_t starts() const { return executor_.begun.size(); }
  [[nodiscard]] std::uint64_t refused() const { return scheduler_.refused_placements(); }
  [[nodiscard]] std::size_t most_clients() const { return most_clients_; }
  // GPUs with a job that has an SLO and further ones, in all.
  [[nodiscard]] std::size_t beside_slo() const { return beside_slo_; }

 private:
  static std::vector<GpuView> gpus() {
    auto gpus = stub_gpus(kHostileGpus);
    gpus[2].mps_possible = false;
    return gpus;
  }

  void act() {
    for (std::uint64_t jobs = dice_.roll(4); jobs > 0 && scheduler_.waiting() < 30; --jobs) {
      submit();
    }
    for (const auto& [run, spec] : std::map(executor_.running)) {
      if (dice_.once_in(crowded_ ? 2000 : 80)) {
        executor_.end(run, {.end = dice_.once_in(3) ? RunEnd::OutOfMemory : RunEnd::Succeeded});
      }
    }
    if (dice_.once_in(3)) {
      observe(scheduler_.gpus()[dice_.roll(kHostileGpus)]);
    }
  }

  void submit() {
    JobSpec spec = stub_job(0);
    std::uint32_t uid = 1000;
    spec.workload = fmt::format("w{}", dice_.roll(1000));
    if (crowded_ || !dice_.once_in(6)) {
      spec.mem_bytes = kGiB / 4;  // so small that a GPU has room for more than MPS can serve
    }
    if (!crowded_) {
      if (dice_.once_in(6)) {
        spec.mem_bytes = (1 + dice_.roll(40)) * kGiB;
      }
      spec.gpus = dice_.once_in(8) ? 2 : 1;
      spec.exclusive = dice_.once_in(10);
      uid += static_cast<std::uint32_t>(dice_.roll(2));
      spec.job_class = dice_.once_in(6) ? JobClass::Slo : JobClass::Normal;
    }
    ASSERT_TRUE(scheduler_.submit(spec, {.uid = uid, .user = "u"}, now_).has_value());
  }

  // Jobs use half of what they reserved; sometimes other processes appear, or the GPU fails.
  void observe(const GpuView& view) {
    GpuObservation seen{.gpu = view.index};
    seen.unusable = dice_.once_in(20) ? "Xid 79" : "";
    seen.foreign = dice_.once_in(20);
    for (const Resident& resident : view.residents) {
      seen.jobs.push_back({.job = resident.job, .bytes = resident.reserved_bytes / 2});
      seen.used_bytes += resident.reserved_bytes / 2;
    }
    scheduler_.observe(seen, now_);
  }

  void check(const GpuView& gpu) {
    std::uint64_t reserved = 0;
    std::size_t clients = 0;
    std::set<std::uint32_t> mps_users;
    std::set<std::uint32_t> users;
    bool slo = false;
    for (const Resident& resident : gpu.residents) {
      reserved += resident.reserved_bytes;
      users.insert(resident.uid);
      slo = slo || resident.job_class == JobClass::Slo;
      if (resident.mechanism == ShareMechanism::Mps) {
        ++clients;
        mps_users.insert(resident.uid);
      }
      const JobRecord& record = *scheduler_.find(resident.job);
      const bool alone = record.exclusive || resident.mechanism == ShareMechanism::None;
      EXPECT_TRUE(!alone || gpu.residents.size() == 1) << "exclusive job " << record.id;
      EXPECT_TRUE(gpu.unusable.empty() || resident.started_s < now_) << "GPU " << gpu.index;
    }
    EXPECT_LE(reserved, gpu.memory_bytes) << "GPU " << gpu.index;
    EXPECT_LE(mps_users.size(), 1U) << "GPU " << gpu.index;
    EXPECT_TRUE(!slo || users.size() <= 1) << "GPU " << gpu.index;
    beside_slo_ += slo && gpu.residents.size() > 1 ? 1 : 0;
    EXPECT_LE(clients, kMostMpsClients) << "GPU " << gpu.index;
    EXPECT_TRUE(clients == 0 || gpu.mps_possible) << "GPU " << gpu.index;
    most_clients_ = std::max(most_clients_, clients);
  }

  void check_attempts() {
    for (; checked_ < journal_.events.size(); ++checked_) {
      const JobEvent& event = journal_.events[checked_];
      const auto* start = std::get_if<JobStarted>(&event.what);
      if (start == nullptr) {
        continue;
      }
      const JobRecord& record = *scheduler_.find(event.job);
      EXPECT_EQ(std::set(start->gpus.begin(), start->gpus.end()).size(), record.spec.gpus);
      EXPECT_FALSE(record.spec.gpus > 1 && start->mechanism == ShareMechanism::Mps);
      EXPECT_TRUE(start->thread_limit > 0.0 && start->thread_limit <= kAllThreads);
      EXPECT_TRUE(std::isfinite(start->predicted_progress.value_or(1.0)));
      EXPECT_TRUE(start->reserved_bytes == 0 ||
                  start->reserved_bytes >= record.spec.mem_bytes.value_or(0));
      EXPECT_TRUE(parse_event(event_line(event), "event").has_value());
    }
  }

  // A job that waits although the policy placed it.
  void check_refusals() {
    for (const auto& [job, placed] : std::exchange(policy_.placed, {})) {
      const auto why = scheduler_.why_waiting(job);
      if (placed && why) {
        EXPECT_TRUE(why->reason.starts_with("policy \"hostile\" ") &&
                    why->reason.ends_with(": refused"))
            << why->reason;
      }
    }
  }

  bool crowded_;  // small jobs of one user that hardly ever end
  Dice dice_;
  HostilePolicy policy_;
  StubInterference interference_;
  StubJournal journal_;
  StubExecutor executor_;
  Scheduler scheduler_;
  double now_ = 0.0;
  std::size_t checked_ = 0;  // events
  std::size_t most_clients_ = 0;
  std::size_t beside_slo_ = 0;
};

TEST(PlacementGuardProperty, NoPolicyBreaksARule) {
  set_log_level(LogLevel::Off);
  const std::size_t wanted = thorough_tests() ? kThoroughDecisions : kDecisions;
  const std::uint64_t first_seed = thorough_tests() ? std::random_device{}() : 1;
  std::size_t decisions = 0;
  std::size_t starts = 0;
  std::uint64_t refused = 0;
  std::size_t most_clients = 0;
  std::size_t beside_slo = 0;
  for (std::uint64_t seed = first_seed; decisions < wanted && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    HostileLife life(seed);
    life.play();
    decisions += life.decisions();
    starts += life.starts();
    refused += life.refused();
    most_clients = std::max(most_clients, life.most_clients());
    beside_slo += life.beside_slo();
  }
  set_log_level(LogLevel::Info);
  // The policies were let do something, and were stopped often.
  EXPECT_GT(starts, wanted / 10);
  EXPECT_GT(refused, wanted);
  EXPECT_EQ(most_clients, kMostMpsClients);
  EXPECT_GT(beside_slo, 1'000U);
}

}  // namespace
}  // namespace carpool::schedule
