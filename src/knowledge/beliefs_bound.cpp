#include "knowledge/beliefs_bound.hpp"

#include <algorithm>
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
    if (named_.back().slot == kNone) {
      unseen_.emplace(workload, static_cast<std::uint32_t>(named_.size() - 1));
    }
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
  if (named_.back().slot == kNone) {
    unseen_.emplace(workload, static_cast<std::uint32_t>(named_.size() - 1));
  }
}

void BoundBeliefs::catch_up() {
  const auto& seen = store_.workloads();
  if (store_.epoch() == epoch_ && seen.size() == workloads_) {
    return;
  }
  if (store_.epoch() != epoch_) {
    unseen_.clear();
    for (std::uint32_t index = 0; index < named_.size(); ++index) {
      resolve(named_[index]);
      if (named_[index].slot == kNone) {
        unseen_.emplace(named_[index].workload, index);
      }
    }
  } else {
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
  law_progress(store_, group_, told_, out);
  remembered_progress(store_, group_, key_, out);
}

}  // namespace carpool::knowledge
