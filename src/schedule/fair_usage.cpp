#include "schedule/fair_usage.hpp"

#include <algorithm>
#include <cmath>

namespace carpool::schedule {
namespace {

constexpr double kHalfLife = 12.0 * 3600.0;
constexpr double kSharpness = 4.0;

double kept(double from_s, double to_s) {
  return std::exp2(-std::max(to_s - from_s, 0.0) / kHalfLife);
}

}  // namespace

void FairUsage::began(std::uint32_t uid, double speed, double now_s) {
  User& user = users_[uid];
  user.speed += speed;
  user.speed_began += speed * now_s;
}

void FairUsage::ended(std::uint32_t uid, double speed, double began_s, double now_s) {
  User& user = users_[uid];
  user.speed -= speed;
  user.speed_began -= speed * began_s;
  user.past = user.past * kept(user.since_s, now_s) + speed * std::max(now_s - began_s, 0.0);
  user.since_s = std::max(user.since_s, now_s);
}

double FairUsage::used(const User& user, double now_s) {
  const double running = std::max(user.speed * now_s - user.speed_began, 0.0);
  return user.past * kept(user.since_s, now_s) + running;
}

double FairUsage::mean(double now_s) const {
  double all = 0.0;
  for (const auto& [id, user] : users_) {
    all += used(user, now_s);
  }
  return users_.empty() ? 0.0 : all / static_cast<double>(users_.size());
}

double FairUsage::weight(std::uint32_t uid, double now_s, double mean) const {
  const auto found = users_.find(uid);
  if (found == users_.end() || mean <= 0.0) {
    return 1.0;
  }
  return std::pow(1.0 + used(found->second, now_s) / mean, -kSharpness);
}

}  // namespace carpool::schedule
