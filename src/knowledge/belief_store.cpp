#include "knowledge/belief_store.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/workload_identity.hpp"

namespace carpool::knowledge {
namespace {

// "uid:1000/" of "uid:1000/train".
std::string_view scope_of(std::string_view workload) {
  return workload.substr(0, workload.size() - workload_name(workload).size());
}

double trust_of(double variance) {
  return std::clamp(1.0 - variance / squared(kActivityDeviation), 0.0, 1.0);
}

}  // namespace

UserBelief BeliefStore::new_user(std::string scope) const {
  UserBelief user{.scope = std::move(scope)};
  user.log_contention = {.mean = std::log(settings_.contention),
                         .variance = squared(kContentionDeviation)};
  user.tilt = {.mean = settings_.tilt, .variance = squared(kTiltDeviation)};
  return user;
}

std::uint32_t BeliefStore::find(const std::string& workload) const {
  const auto found = numbers_.find(workload);
  return found == numbers_.end() ? kNone : found->second;
}

std::uint32_t BeliefStore::find_user(std::string_view workload) const {
  const auto found = std::ranges::find(users_, scope_of(workload), &UserBelief::scope);
  return found == users_.end() ? kNone : static_cast<std::uint32_t>(found - users_.begin());
}

std::uint32_t BeliefStore::add_user(std::string_view scope) {
  users_.push_back(new_user(std::string(scope)));
  return static_cast<std::uint32_t>(users_.size() - 1);
}

LawMember BeliefStore::assumed(const std::string& workload) const {
  LawMember member{.user = find_user(workload), .activity = settings_.prior_activity};
  if (prior_ != nullptr && prior_->knows(workload)) {
    member.profiled = true;
    if (const auto activity = prior_->sm_active(workload); activity && *activity > 0.0) {
      member.activity = std::min(*activity, 1.0);
      member.trust = trust_of(squared(kProfiledActivityDeviation));
    }
  }
  member.push = squared(member.activity);
  return member;
}

std::uint32_t BeliefStore::find_or_add(const std::string& workload, double at_s) {
  if (const std::uint32_t known = find(workload); known != kNone) {
    return known;
  }
  const auto slot = static_cast<std::uint32_t>(workloads_.size());
  const LawMember before = assumed(workload);
  WorkloadState made{.name = workload, .assumed_activity = before.activity, .seen_at_s = at_s};
  made.activity = {
      .mean = before.activity,
      .variance = squared(before.trust > 0.0 ? kProfiledActivityDeviation : kActivityDeviation),
      .at_s = at_s};
  made.log_sensitivity = {.variance = squared(kWorkloadDeviation), .at_s = at_s};
  made.log_pressure = made.log_sensitivity;
  made.member = before;
  made.member.slot = slot;
  if (made.member.user == kNone) {
    made.member.user = add_user(scope_of(workload));
  }
  ++users_[made.member.user].workloads;
  numbers_.emplace(workload, slot);
  workloads_.push_back(std::move(made));
  return slot;
}

void BeliefStore::refresh(std::uint32_t slot) {
  WorkloadState& workload = workloads_[slot];
  LawMember& member = workload.member;
  member.activity = workload.activity.mean;
  member.trust = trust_of(workload.activity.variance);
  member.push = squared(workload.activity.mean) * std::exp(workload.log_pressure.mean);
  member.sensitivity = std::exp(workload.log_sensitivity.mean);
}

double BeliefStore::activity_variance(const WorkloadState& workload) const {
  return aged_variance(workload.activity, squared(kActivityDeviation), now_s_);
}

const Believed* BeliefStore::pair(std::uint32_t slowed, std::uint32_t by) const {
  const auto found = pairs_.find(pair_key(slowed, by));
  return found == pairs_.end() ? nullptr : &found->second;
}

Believed& BeliefStore::add_pair(std::uint32_t slowed, std::uint32_t by, double at_s) {
  const std::uint64_t key = pair_key(slowed, by);
  if (const auto known = pairs_.find(key); known != pairs_.end()) {
    return known->second;
  }
  const std::uint32_t user = workloads_[slowed].member.user;
  if (++users_[user].pairs > settings_.most_pairs_per_user) {
    drop_pairs(user);
  }
  workloads_[slowed].member.paired = true;
  return pairs_[key] = {.variance = squared(kPairDeviation), .at_s = at_s};
}

void BeliefStore::drop_pairs(std::uint32_t user) {
  std::vector<std::pair<double, std::uint64_t>> own;
  for (const auto& [key, factor] : pairs_) {
    if (workloads_[key >> 32U].member.user == user) {
      own.emplace_back(factor.at_s, key);
    }
  }
  std::ranges::sort(own);
  own.resize(own.size() / 10 + 1);
  for (const auto& [at_s, key] : own) {
    pairs_.erase(key);
  }
  users_[user].pairs -= own.size();
}

std::vector<bool> BeliefStore::too_many() const {
  std::vector<std::uint32_t> newest(workloads_.size());
  std::iota(newest.begin(), newest.end(), 0U);
  std::ranges::sort(newest, [this](std::uint32_t a, std::uint32_t b) {
    return workloads_[a].seen_at_s != workloads_[b].seen_at_s
               ? workloads_[a].seen_at_s > workloads_[b].seen_at_s
               : workloads_[a].name < workloads_[b].name;
  });
  // Room for a twentieth more, so that not every new workload drops one.
  const auto left = [](std::size_t most) { return most - most / 20; };
  std::vector<std::size_t> kept(users_.size(), 0);
  std::vector<bool> dropped(workloads_.size(), false);
  std::size_t all = 0;
  const bool too_many_in_all = workloads_.size() > settings_.most_workloads;
  for (const std::uint32_t slot : newest) {
    const std::uint32_t user = workloads_[slot].member.user;
    const bool full = users_[user].workloads > settings_.most_workloads_per_user &&
                      kept[user] >= left(settings_.most_workloads_per_user);
    dropped[slot] = full || (too_many_in_all && all >= left(settings_.most_workloads));
    kept[user] += dropped[slot] ? 0 : 1;
    all += dropped[slot] ? 0 : 1;
  }
  return dropped;
}

void BeliefStore::drop(const std::vector<bool>& dropped) {
  std::vector<std::uint32_t> numbers(workloads_.size(), kNone);
  std::vector<WorkloadState> kept;
  numbers_.clear();
  for (std::uint32_t slot = 0; slot < workloads_.size(); ++slot) {
    if (dropped[slot]) {
      --users_[workloads_[slot].member.user].workloads;
      continue;
    }
    numbers[slot] = static_cast<std::uint32_t>(kept.size());
    workloads_[slot].member.slot = numbers[slot];
    numbers_.emplace(workloads_[slot].name, numbers[slot]);
    kept.push_back(std::move(workloads_[slot]));
  }
  workloads_ = std::move(kept);
  Pairs pairs;
  for (UserBelief& user : users_) {
    user.groups.renumber(numbers);
    user.latencies.renumber(numbers);
    user.pairs = 0;
  }
  for (const auto& [key, factor] : pairs_) {
    const std::uint32_t slowed = numbers[key >> 32U];
    const std::uint32_t by = numbers[key & 0xFFFF'FFFFU];
    if (slowed != kNone && by != kNone) {
      pairs.emplace(pair_key(slowed, by), factor);
      ++users_[workloads_[slowed].member.user].pairs;
    }
  }
  pairs_ = std::move(pairs);
  ++epoch_;
}

bool BeliefStore::make_room() {
  const bool full = workloads_.size() > settings_.most_workloads ||
                    std::ranges::any_of(users_, [this](const UserBelief& user) {
                      return user.workloads > settings_.most_workloads_per_user;
                    });
  if (full) {
    drop(too_many());
  }
  return full;
}

void BeliefStore::weaken(double weight) {
  const auto weaken_one = [weight](Believed& number, double deviation) {
    number.variance = weakened(number.variance, squared(deviation), weight);
  };
  for (UserBelief& user : users_) {
    weaken_one(user.log_contention, kContentionDeviation);
    weaken_one(user.tilt, kTiltDeviation);
    user.groups.weaken(weight);
    user.latencies.weaken(weight);
  }
  for (auto& [key, factor] : pairs_) {
    weaken_one(factor, kPairDeviation);
  }
  for (std::uint32_t slot = 0; slot < workloads_.size(); ++slot) {
    WorkloadState& workload = workloads_[slot];
    weaken_one(workload.activity, kActivityDeviation);
    workload.window.reset();  // its kernels are recorded again
    weaken_one(workload.log_sensitivity, kWorkloadDeviation);
    weaken_one(workload.log_pressure, kWorkloadDeviation);
    for (auto& solo : workload.solo) {
      if (solo) {
        weaken_one(solo->log_rate, kSoloRateDeviation);
      }
    }
    refresh(slot);
  }
}

}  // namespace carpool::knowledge
