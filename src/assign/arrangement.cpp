#include "assign/arrangement.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace carpool::assign {

Grouping Arrangement::groups() const {
  Grouping grouping;
  std::ranges::copy_if(std::span(places_).first(rules_.gpus),
                       std::back_inserter(grouping),
                       [](const std::vector<Member>& members) { return !members.empty(); });
  return grouping;
}

void Arrangement::put(Member member, std::size_t where) {
  places_[where].push_back(member);
  place_of_[member] = where;
}

void Arrangement::take(Member member) {
  std::erase(places_[place_of_[member]], member);
  place_of_[member] = kNowhere;
}

void Arrangement::put_outside(Member member) {
  const auto free = std::find_if(places_.begin() + static_cast<std::ptrdiff_t>(rules_.gpus),
                                 places_.end(),
                                 [](const auto& members) { return members.empty(); });
  const auto where = static_cast<std::size_t>(free - places_.begin());
  if (free == places_.end()) {
    places_.emplace_back();
  }
  put(member, where);
}

std::size_t Arrangement::outside() const {
  std::size_t count = 0;
  for (std::size_t where = rules_.gpus; where < places_.size(); ++where) {
    count += places_[where].size();
  }
  return count;
}

void Arrangement::clear(std::size_t gpu) {
  for (const Member member : std::vector<Member>(places_[gpu])) {
    take(member);
    put_outside(member);
  }
}

bool Arrangement::clear_worst() {
  std::optional<std::size_t> worst;
  float progress = 0.0F;
  for (std::size_t gpu = 0; gpu < rules_.gpus; ++gpu) {
    if (places_[gpu].size() < 2) {
      continue;
    }
    const float here = values_->at(key_after(gpu, std::nullopt, std::nullopt)).worst;
    if (!worst || here < progress) {
      worst = gpu;
      progress = here;
    }
  }
  if (!worst) {
    return false;
  }
  rules_.above = progress;
  clear(*worst);
  return true;
}

Arrangement::Key Arrangement::key_after(std::size_t where,
                                        std::optional<Member> without,
                                        std::optional<Member> with) const {
  Key key;
  for (const Member member : places_[where]) {
    if (member != without) {
      key.push_back(values_->kind(member));
    }
  }
  if (with) {
    key.push_back(values_->kind(*with));
  }
  std::ranges::sort(key);
  return key;
}

double Arrangement::worth(std::size_t where, const Key& key) const {
  if (key.empty() || !on_gpu(where)) {
    return 0.0;
  }
  const GroupValue& value = values_->at(key);
  if (!value.feasible || (key.size() > 1 && value.worst <= rules_.above)) {
    return kForbidden;
  }
  if (!rules_.bottleneck) {
    return value.value;
  }
  // 1 - worst^-64, 0 for a group of one: so steep that the smallest progress nearly decides the sum
  // over GPUs, while a search that maximises the sum still sees every other group improve.
  constexpr double kSteepness = 64.0;
  constexpr double kSmallest = 1e-3;
  return 1.0 - std::pow(std::max(static_cast<double>(value.worst), kSmallest), -kSteepness);
}

}  // namespace carpool::assign
