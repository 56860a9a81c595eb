#include "knowledge/beliefs_bound.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>

#include "knowledge/group_forecast.hpp"
#include "knowledge/interference_law.hpp"

namespace carpool::knowledge {

BoundBeliefs::BoundBeliefs(const BeliefStore& store,
                           std::shared_mutex& mutex,
                           std::span<const std::string> workloads)
    : store_(store),
      mutex_(mutex),
      prior_(store.prior() == nullptr ? nullptr : store.prior()->bind(workloads)) {
  const std::shared_lock lock(mutex_);
  epoch_ = store.epoch();
  workloads_ = store.workloads().size();
  users_ = store.users().size();
  named_.reserve(workloads.size());
  for (const std::string& workload : workloads) {
    named_.push_back({.workload = workload});
    resolve(named_.back());
  }
}

void BoundBeliefs::resolve(Named& named) const {
  named.slot = store_.find(named.workload);
  if (named.slot == kNone) {
    named.assumed = store_.assumed(named.workload);
  }
}

void BoundBeliefs::add(const std::string& workload) {
  if (prior_ != nullptr) {
    prior_->add(workload);
  }
  const std::shared_lock lock(mutex_);
  catch_up();
  named_.push_back({.workload = workload});
  resolve(named_.back());
  if (unseen_listed_ && named_.back().slot == kNone) {
    unseen_.emplace(workload, static_cast<std::uint32_t>(named_.size() - 1));
  }
}

void BoundBeliefs::list_unseen() {
  unseen_.clear();
  for (std::uint32_t index = 0; index < named_.size(); ++index) {
    if (named_[index].slot == kNone) {
      unseen_.emplace(named_[index].workload, index);
    }
  }
  unseen_listed_ = true;
}

void BoundBeliefs::catch_up() {
  const auto& seen = store_.workloads();
  if (store_.epoch() == epoch_ && seen.size() == workloads_) {
    return;
  }
  if (store_.epoch() != epoch_) {
    std::ranges::for_each(named_, [this](Named& named) { resolve(named); });
    unseen_listed_ = false;
  } else {
    if (!unseen_listed_) {
      list_unseen();
    }
    for (std::size_t slot = workloads_; slot < seen.size(); ++slot) {
      const auto [first, last] = unseen_.equal_range(seen[slot].name);
      std::for_each(first, last, [&](const auto& unseen) {
        named_[unseen.second].slot = static_cast<std::uint32_t>(slot);
      });
      unseen_.erase(first, last);
    }
    if (store_.users().size() != users_) {
      for (const auto& [workload, index] : unseen_) {
        named_[index].assumed = store_.assumed(workload);
      }
    }
  }
  epoch_ = store_.epoch();
  workloads_ = seen.size();
  users_ = store_.users().size();
}

double BoundBeliefs::cost(std::uint32_t slowed, std::uint32_t by) {
  if (costs_.empty() || costs_version_ != store_.version()) {
    constexpr unsigned kMostBits = 14;
    const auto width = static_cast<unsigned>(std::bit_width(named_.size()));
    cost_bits_ = std::min(2 * width + 1, kMostBits);
    costs_.assign(std::size_t{1} << cost_bits_, {});
    costs_version_ = store_.version();
  }
  const auto member = [this](std::uint32_t index) -> const LawMember& {
    const Named& named = named_[index];
    return named.slot == kNone ? named.assumed : store_.workloads()[named.slot].member;
  };
  const std::uint64_t pair = (std::uint64_t{slowed} << 32U) | by;
  constexpr std::uint64_t kSpread = 0x9E37'79B9'7F4A'7C15;
  KnownCost& known = costs_[(pair * kSpread) >> (64U - cost_bits_)];
  if (known.pair != pair) {
    known = {.pair = pair, .cost = law_cost(store_, member(slowed), member(by))};
  }
  return known.cost;
}

void BoundBeliefs::law(std::span<const std::uint32_t> group, std::span<double> out) {
  double load = 0.0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    double sum = 0.0;
    for (std::size_t j = 0; j < group.size(); ++j) {
      sum += j == i ? 0.0 : cost(group[i], group[j]);
    }
    out[i] = law_share(store_, group.size(), sum);
    load += group_[i]->activity * out[i];
  }
  const double factor = capacity_factor(load);
  for (double& share : out) {
    share = std::max(share * factor, store_.settings().floor);
  }
}

void BoundBeliefs::progress(std::span<const std::uint32_t> group, std::span<double> out) {
  const std::shared_lock lock(mutex_);
  catch_up();
  group_.clear();
  bool profiled = prior_ != nullptr && group.size() > 1;
  for (const std::uint32_t index : group) {
    const Named& named = named_[index];
    group_.push_back(named.slot == kNone ? &named.assumed : &store_.workloads()[named.slot].member);
    profiled = profiled && group_.back()->profiled;
  }
  told_.clear();
  if (profiled) {
    told_.resize(group.size());
    prior_->progress(group, told_);
    if (!std::ranges::all_of(told_, [](double share) { return std::isfinite(share); })) {
      told_.clear();
    }
  }
  if (told_.empty()) {
    law(group, out);
  } else {
    law_progress(store_, group_, told_, out);
  }
  remembered_progress(store_, group_, key_, out);
}

}  // namespace carpool::knowledge
