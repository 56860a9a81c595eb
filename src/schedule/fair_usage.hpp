// How much of the GPUs each user had recently.
#pragma once

#include <cstdint>
#include <map>

namespace carpool::schedule {

// In GPU-seconds at solo speed: a job that neighbours slow down is charged for the work that it got
// done. Usage of half a day ago counts half.
class FairUsage {
 public:
  void began(std::uint32_t uid, double speed, double now_s);
  // With the values given to began().
  void ended(std::uint32_t uid, double speed, double began_s, double now_s);

  // From now on the user counts in the mean, without usage yet.
  void came(std::uint32_t uid) { users_.try_emplace(uid); }

  [[nodiscard]] double mean(double now_s) const;  // of all users
  // 1 without usage, 1/16 at the mean, 1/81 at twice the mean: enough that a job of a user without
  // usage goes before jobs that another user queued hours ago.
  [[nodiscard]] double weight(std::uint32_t uid, double now_s, double mean) const;

 private:
  struct User {
    double past = 0.0;  // GPU-seconds of ended attempts, as of since_s
    double since_s = 0.0;
    double speed = 0.0;        // sum over running attempts
    double speed_began = 0.0;  // sum of speed times start time
  };

  [[nodiscard]] static double used(const User& user, double now_s);

  std::map<std::uint32_t, User> users_;
};

}  // namespace carpool::schedule
