#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "policy/colocation_forecast.hpp"
#include "policy/policy_table.hpp"
#include "policy/queue_pass.hpp"

namespace carpool::policy {
namespace {

// Least progress of a job with a latency target.
constexpr double kSloFloor = 0.8;
// A new job with which all members keep this share hardly slows them.
constexpr double kUnnoticed = 0.93;
// Weight of waiting jobs: they stand for jobs that are still to come.
constexpr double kBehindWeight = 4.0;
constexpr double kLeastShare = 0.01;
// Of many GPUs at most this many are evaluated for one job: the least busy ones where it fits.
constexpr std::size_t kMostAsked = 64;
constexpr std::size_t kNotKnown = ~std::size_t{0};
// MPS thread limits to try for a new job; running jobs keep theirs.
constexpr std::array kLimits = {80.0, 60.0, 40.0, 20.0};

// Work that a shared GPU gets done, relative to an unshared one, to estimate when the queue is
// empty.
constexpr double kSharedSpeed = 1.3;

// Seconds until all running and waiting jobs are done; kNoTime if some are not seen or a run time
// is not known.
double all_done_s(const ClusterSnapshot& cluster, const PolicySettings& settings) {
  double work = 0.0;
  double gpus = 0.0;
  for (const GpuView& gpu : cluster.gpus) {
    gpus += gpu.unusable.empty() ? 1.0 : 0.0;
    for (const Resident& resident : gpu.residents) {
      work += resident.remaining_s.value_or(kNoTime);
    }
  }
  for (const QueuedJob* job : cluster.queue) {
    work += job->runtime_s.value_or(kNoTime) * static_cast<double>(job->gpus);
  }
  return cluster.queue.size() <= settings.depth && gpus > 0.0 ? work / (gpus * kSharedSpeed)
                                                              : kNoTime;
}

class CarpoolChooser final : public Chooser {
 public:
  CarpoolChooser(const ClusterSnapshot& cluster, QueuePass& pass, const InterferenceModel& model)
      : model_(model),
        forecasts_(pass.state(), model),
        likely_(pass.state().open()),
        all_done_s_(all_done_s(cluster, pass.settings())) {
    if (likely_.size() > kMostAsked) {
      least_busy_first(pass.state());
    }
  }

  // A job that takes as long as all others together would be the last to end.
  [[nodiscard]] bool urgent(const PendingJob& job) const override {
    return job.job->runtime_s && *job.job->runtime_s >= all_done_s_;
  }

  Chosen choose(const PendingJob& job, const QueuePass& pass) override {
    const auto empty = empty_slot(job, pass);
    SlotChoice alone{.slots = {empty.value_or(0)}, .progress = 1.0, .reason = "on an empty GPU"};
    // Where empty GPUs are scarce, one is left for a job that needs it.
    if (empty && pass.behind() <= pass.state().empty_slots()) {
      return alone;
    }
    const Best best = look(job, pass);
    if (best.unnoticed) {
      return join(job, pass, *best.unnoticed, "hardly slows the running jobs");
    }
    if (empty) {
      return alone;
    }
    if (!best.gaining) {
      return tl::unexpected(pass.refuse(job));
    }
    if (const auto empty_s = better_to_wait(job, pass, *best.gaining)) {
      return tl::unexpected(Refusal{
          .constraint = Constraint::Interference,
          .reason = fmt::format("waiting for a GPU that should be empty in {:.0f} s; sharing until "
                                "then would slow running jobs for little gain",
                                *empty_s),
          .by_run_time = true});
    }
    return join(job, pass, *best.gaining, "best predicted progress of all jobs");
  }

 private:
  struct Best {
    std::optional<std::size_t> unnoticed{};
    std::optional<std::size_t> gaining{};
  };

  static std::optional<std::size_t> empty_slot(const PendingJob& job, const QueuePass& pass) {
    if (pass.state().empty_slots() == 0) {
      return std::nullopt;
    }
    const auto& open = pass.state().open();
    const auto found = std::ranges::find_if(open, [&](std::size_t i) {
      const Slot& slot = pass.state().slots()[i];
      return pass.state().free_for_one(job, slot) && pass.open(job, slot) &&
             !pass.held_against(job, slot, 1.0);
    });
    return found == open.end() ? std::nullopt : std::optional(*found);
  }

  // By the sum of the SM activity that the members have solo.
  void least_busy_first(PlacementState& state) {
    std::vector<double> activity;
    std::vector<std::pair<double, std::size_t>> busy;
    busy.reserve(likely_.size());
    for (const std::size_t slot : likely_) {
      double sum = 0.0;
      for (const std::uint32_t workload : state.group(state.slots()[slot])) {
        for (std::size_t next = activity.size(); next < state.workloads().size(); ++next) {
          activity.push_back(model_.sm_active(state.workloads()[next]).value_or(kUnknownActivity));
        }
        sum += activity[workload];
      }
      busy.emplace_back(sum, slot);
    }
    std::ranges::sort(busy);
    std::ranges::transform(busy, likely_.begin(), &std::pair<double, std::size_t>::second);
  }

  // Among GPUs that run something.
  Best look(const PendingJob& job, const QueuePass& pass) {
    const auto& slots = pass.state().slots();
    const PolicySettings& settings = pass.settings();
    const bool slo = job.job->job_class == JobClass::Slo;
    Best best;
    double kept = kUnnoticed;
    double gain = settings.least_gain;
    std::size_t asked = 0;
    for (const std::size_t i : likely_) {
      const Slot& slot = slots[i];
      if (!job.need_known || slot.empty() || !pass.state().fits(job, slot) ||
          !pass.open(job, slot)) {
        continue;
      }
      if (++asked > kMostAsked) {
        break;
      }
      const ColocationForecast& forecast = forecasts_.of(job.workload, i);
      if (forecast.worst < settings.floor || forecast.worst_slo < kSloFloor ||
          (slo && forecast.own < kSloFloor) || pass.held_against(job, slot, forecast.own)) {
        continue;
      }
      const double least = std::min(forecast.kept, forecast.own);
      if (least >= kept) {
        kept = least;
        best.unnoticed = i;
      }
      if (forecast.gain >= gain) {
        gain = forecast.gain;
        best.gaining = i;
      }
    }
    return best;
  }

  // When the first GPU that is not reserved is empty, at the speeds that are predicted now.
  double next_empty_s(const QueuePass& pass) {
    if (empty_known_at_ == pass.changes()) {
      return next_empty_s_;
    }
    const auto& slots = pass.state().slots();
    double soonest = kNoTime;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (!slots[i].usable() || slots[i].held || slots[i].empty_after_s() >= soonest) {
        continue;
      }
      const auto& shares = forecasts_.shares_at(i);
      const double slowest =
          shares.empty() ? 1.0 : std::max(*std::ranges::min_element(shares), kLeastShare);
      soonest = std::min(soonest, slots[i].empty_after_s() / slowest);
    }
    empty_known_at_ = pass.changes();
    next_empty_s_ = soonest;
    return soonest;
  }

  // Compares, in seconds of waiting of all jobs, joining now at reduced speed with waiting for the
  // next empty GPU. Jobs behind in the queue gain from all work that gets done meanwhile.
  std::optional<double> better_to_wait(const PendingJob& job,
                                       const QueuePass& pass,
                                       std::size_t index) {
    const auto& slots = pass.state().slots();
    const double empty_s = job.job->runtime_s ? next_empty_s(pass) : kNoTime;
    if (empty_s == kNoTime) {
      return std::nullopt;
    }
    const ColocationForecast forecast = forecasts_.of(job.workload, index);
    const Slot& slot = slots[index];
    // They share until the first of them ends; the rest is assumed to run at solo speed.
    double first_s = kNoTime;
    for (const Resident& resident : slot.view->residents) {
      first_s = std::min(first_s, resident.remaining_s.value_or(kNoTime));
    }
    const double runtime = *job.job->runtime_s;
    const double shared_s = std::min(runtime / forecast.own, first_s / forecast.kept);
    const double joined_s = shared_s + std::max(runtime - forecast.own * shared_s, 0.0);
    const double others_lose = (forecast.own - forecast.gain) * shared_s;
    const double behind = kBehindWeight * static_cast<double>(pass.behind()) /
                          (kSharedSpeed * static_cast<double>(slots.size()));
    const bool wait =
        empty_s + runtime < joined_s + others_lose - behind * forecast.gain * shared_s;
    return wait ? std::optional(empty_s) : std::nullopt;
  }

  // With the thread limit that serves all members best, where the model knows limits.
  SlotChoice join(const PendingJob& job,
                  const QueuePass& pass,
                  std::size_t index,
                  const char* why) {
    const Slot& slot = pass.state().slots()[index];
    const ColocationForecast forecast = forecasts_.of(job.workload, index);
    SlotChoice choice{.slots = {index}, .progress = forecast.own};
    if (model_.knows_limits() && pass.state().mechanism(job, slot) == ShareMechanism::Mps) {
      choose_thread_limit(job, pass, slot, choice);
    }
    choice.reason =
        fmt::format("shares GPU {} with {} others: {}; runs at {:.0f} % of its solo speed",
                    slot.view->index,
                    slot.members(),
                    why,
                    100.0 * *choice.progress);
    return choice;
  }

  void choose_thread_limit(const PendingJob& job,
                           const QueuePass& pass,
                           const Slot& slot,
                           SlotChoice& choice) const {
    std::vector<InterferenceMember> members;
    members.reserve(slot.members() + 1);
    for (const Resident& resident : slot.view->residents) {
      members.push_back({.workload = resident.workload, .thread_limit = resident.thread_limit});
    }
    for (const PendingJob& added : slot.added) {
      members.push_back({.workload = added.job->workload, .thread_limit = added.thread_limit});
    }
    members.push_back({.workload = job.job->workload});
    double best = 0.0;
    const auto consider = [&](double limit) {
      members.back().thread_limit = limit;
      const std::vector<double> shares = model_.progress(members);
      double sum = 0.0;
      for (const double share : shares) {
        sum += share;
      }
      if (*std::ranges::min_element(shares) >= pass.settings().floor && sum > best) {
        best = sum;
        choice.thread_limit = limit;
        choice.progress = shares.back();
      }
    };
    consider(kAllThreads);
    std::ranges::for_each(kLimits, consider);
  }

  const InterferenceModel& model_;
  ColocationForecasts forecasts_;
  std::vector<std::size_t> likely_;  // GPUs in the order of evaluation
  double all_done_s_;
  std::size_t empty_known_at_ = kNotKnown;  // QueuePass::changes() when next_empty_s_ was found
  double next_empty_s_ = kNoTime;
};

class CarpoolPolicy final : public PlacementPolicy {
 public:
  explicit CarpoolPolicy(const PolicySettings& settings) : settings_(settings) {}

  [[nodiscard]] std::string_view name() const override { return "carpool"; }

  [[nodiscard]] PlacementDecision decide(const ClusterSnapshot& cluster,
                                         const InterferenceModel& interference) const override {
    QueuePass pass(cluster, settings_);
    CarpoolChooser chooser(cluster, pass, interference);
    return pass.run(chooser);
  }

 private:
  PolicySettings settings_;
};

}  // namespace

std::unique_ptr<PlacementPolicy> make_carpool_policy(const PolicySettings& settings) {
  return std::make_unique<CarpoolPolicy>(settings);
}

}  // namespace carpool::policy
