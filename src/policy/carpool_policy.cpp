#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "policy/colocation_forecast.hpp"
#include "policy/predicting_policies.hpp"
#include "policy/queue_pass.hpp"

namespace carpool::policy {
namespace {

// A latency target leaves little to give away.
constexpr double kSloFloor = 0.8;
// Beside such a newcomer nobody notices a difference.
constexpr double kUnnoticed = 0.93;
// Jobs that wait stand for others that are still to come.
constexpr double kBehindWeight = 4.0;
constexpr double kLeastShare = 0.01;
// Of many GPUs, so many are asked about for one job: those with the least to do, where it fits.
constexpr std::size_t kMostAsked = 64;
constexpr std::size_t kNotKnown = ~std::size_t{0};
// MPS thread limits worth trying for a newcomer; those who run keep theirs.
constexpr std::array kLimits = {80.0, 60.0, 40.0, 20.0};

// What GPUs that share get done, in GPUs that do not: for an estimate of when the queue is empty.
constexpr double kSharedSpeed = 1.3;

// Seconds until everybody who runs or waits is done, if all that waits is seen and its run time
// known; infinite else.
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

  // One that alone takes as long as all the rest together would be the last to end.
  [[nodiscard]] bool urgent(const Candidate& job) const override {
    return job.job->runtime_s && *job.job->runtime_s >= all_done_s_;
  }

  Chosen choose(const Candidate& job, const QueuePass& pass) override {
    const auto empty = empty_slot(job, pass);
    SlotChoice alone{.slots = {empty.value_or(0)}, .progress = 1.0, .reason = "on an empty GPU"};
    // Where there are not enough for all, an empty GPU is worth more to somebody who needs one.
    if (empty && pass.behind() <= pass.state().empty_slots()) {
      return alone;
    }
    const Best best = look(job, pass);
    if (best.unnoticed) {
      return join(job, pass, *best.unnoticed, "hardly noticed by those who run");
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
          .reason = fmt::format("a GPU should be empty in {:.0f} s, and until then it would "
                                "slow others down for little",
                                *empty_s),
          .by_run_time = true});
    }
    return join(job, pass, *best.gaining, "the best predicted progress for all");
  }

 private:
  struct Best {
    std::optional<std::size_t> unnoticed{};
    std::optional<std::size_t> gaining{};
  };

  static std::optional<std::size_t> empty_slot(const Candidate& job, const QueuePass& pass) {
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

  // By what their members keep busy alone.
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

  // Among those that run something.
  Best look(const Candidate& job, const QueuePass& pass) {
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

  // When a GPU that is kept for nobody runs empty, at the speeds that are predicted now.
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

  // Compares, in seconds of everybody's waiting, joining now at reduced speed with the next GPU
  // that runs empty. Those who wait behind gain from all that gets done meanwhile.
  std::optional<double> better_to_wait(const Candidate& job,
                                       const QueuePass& pass,
                                       std::size_t index) {
    const auto& slots = pass.state().slots();
    const double empty_s = job.job->runtime_s ? next_empty_s(pass) : kNoTime;
    if (empty_s == kNoTime) {
      return std::nullopt;
    }
    const ColocationForecast forecast = forecasts_.of(job.workload, index);
    const Slot& slot = slots[index];
    // Until the first of them ends they share; what is left then is done alone, or nearly.
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

  // The share of the GPU's threads that serves all best, where the model can tell.
  SlotChoice join(const Candidate& job, const QueuePass& pass, std::size_t index, const char* why) {
    const Slot& slot = pass.state().slots()[index];
    const ColocationForecast forecast = forecasts_.of(job.workload, index);
    SlotChoice choice{.slots = {index}, .progress = forecast.own};
    if (model_.knows_limits() && pass.state().mechanism(job, slot) == ShareMechanism::Mps) {
      split(job, pass, slot, choice);
    }
    choice.reason = fmt::format("beside {} on GPU {}: {}; itself at {:.0f} % of its speed alone",
                                slot.members(),
                                slot.view->index,
                                why,
                                100.0 * *choice.progress);
    return choice;
  }

  void split(const Candidate& job,
             const QueuePass& pass,
             const Slot& slot,
             SlotChoice& choice) const {
    std::vector<InterferenceMember> members;
    members.reserve(slot.members() + 1);
    for (const Resident& resident : slot.view->residents) {
      members.push_back({.workload = resident.workload, .thread_limit = resident.thread_limit});
    }
    for (const Candidate& added : slot.added) {
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
  std::vector<std::size_t> likely_;  // GPUs in the order in which they are asked about
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
