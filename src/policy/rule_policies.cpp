#include <algorithm>

#include <fmt/format.h>

#include "policy/policy_table.hpp"
#include "policy/queue_pass.hpp"

namespace carpool::policy {
namespace {

class RuleChooser final : public Chooser {
 public:
  RuleChooser(GpuRule rule, const ClusterSnapshot& cluster) : rule_(rule) {
    double last = 1e18;
    for (std::size_t i = 0; i < cluster.gpus.size(); ++i) {
      if (cluster.gpus[i].since_placed_s < last) {
        last = cluster.gpus[i].since_placed_s;
        next_ = i + 1;
      }
    }
  }

  Chosen choose(const PendingJob& job, const QueuePass& pass) override {
    if (pass.settings().empty_first || rule_ == GpuRule::Exclusive) {
      if (auto chosen = empty_ones(job, pass)) {
        return *chosen;
      }
    }
    if (rule_ == GpuRule::Exclusive) {
      return tl::unexpected(
          Refusal{.constraint = Constraint::Exclusive, .reason = "no GPU is empty"});
    }
    std::vector<std::size_t> ranked = passing(job, pass);
    if (ranked.size() < job.job->gpus) {
      return tl::unexpected(refuse(job, pass, ranked.size()));
    }
    rank(ranked, job.job->gpus, pass.state().slots());
    ranked.resize(job.job->gpus);
    next_ = ranked.back() + 1;
    return SlotChoice{.slots = std::move(ranked), .reason = "chosen by memory and utilisation"};
  }

 private:
  static std::optional<SlotChoice> empty_ones(const PendingJob& job, const QueuePass& pass) {
    SlotChoice choice{.progress = 1.0, .reason = "on an empty GPU"};
    const auto& slots = pass.state().slots();
    for (const std::size_t i : pass.state().open()) {
      if (choice.slots.size() < job.job->gpus && pass.state().free_for_one(job, slots[i]) &&
          !pass.held_against(job, slots[i], 1.0)) {
        choice.slots.push_back(i);
      }
    }
    return choice.slots.size() == job.job->gpus ? std::optional(choice) : std::nullopt;
  }

  static std::vector<std::size_t> passing(const PendingJob& job, const QueuePass& pass) {
    std::vector<std::size_t> found;
    const auto& slots = pass.state().slots();
    for (const std::size_t i : pass.state().open()) {
      const Slot& slot = slots[i];
      const bool fits = slot.empty() || pass.state().fits(job, slot);
      if (fits && pass.open(job, slot) && pass.state().claim(job, slot) &&
          pass.state().precondition(slot) && !pass.held_against(job, slot, 1.0)) {
        found.push_back(i);
      }
    }
    return found;
  }

  static Refusal refuse(const PendingJob& job, const QueuePass& pass, std::size_t found) {
    if (job.job->gpus > 1) {
      return {.constraint = Constraint::GpuCount,
              .reason = fmt::format(
                  "{} of {} GPUs that the job needs are available", found, job.job->gpus)};
    }
    Refusal refusal = pass.refuse(job);
    if (refusal.constraint == Constraint::Interference) {
      refusal.reason = "GPUs with enough memory are too busy, or their last job has not settled";
    }
    return refusal;
  }

  // The best `count` first; of equals the first by index.
  void rank(std::vector<std::size_t>& ranked,
            std::size_t count,
            const std::vector<Slot>& slots) const {
    const auto better = [&](std::size_t a, std::size_t b) {
      const double first = rank_of(a, slots);
      const double second = rank_of(b, slots);
      return first != second ? first < second : a < b;
    };
    std::partial_sort(
        ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(count), ranked.end(), better);
  }

  // Lower goes first.
  [[nodiscard]] double rank_of(std::size_t index, const std::vector<Slot>& slots) const {
    const Slot& slot = slots[index];
    switch (rule_) {
      case GpuRule::RoundRobin:
        return static_cast<double>((index + slots.size() - next_) % slots.size());
      case GpuRule::BestFit:
        return static_cast<double>(slot.free_bytes);
      case GpuRule::MostMemory:
        return -static_cast<double>(slot.free_bytes);
      case GpuRule::LeastBusy:
        return slot.pressure();
      case GpuRule::MostBusy:
        return -slot.pressure();
      case GpuRule::Exclusive:
      case GpuRule::FirstFit:
        break;
    }
    return 0.0;
  }

  GpuRule rule_;
  std::size_t next_ = 0;
};

class RulePolicy final : public PassPolicy {
 public:
  RulePolicy(std::string_view name, GpuRule rule, const PolicySettings& settings)
      : PassPolicy(settings), name_(name), rule_(rule) {}

  [[nodiscard]] std::string_view name() const override { return name_; }

  [[nodiscard]] PlacementDecision decide(const ClusterSnapshot& cluster,
                                         const InterferenceModel& /*interference*/) const override {
    QueuePass pass(cluster, settings());
    RuleChooser chooser(rule_, cluster);
    return pass.run(chooser);
  }

 private:
  std::string name_;
  GpuRule rule_;
};

}  // namespace

std::unique_ptr<PlacementPolicy> make_rule_policy(std::string_view name,
                                                  GpuRule rule,
                                                  const PolicySettings& settings) {
  return std::make_unique<RulePolicy>(name, rule, settings);
}

}  // namespace carpool::policy
