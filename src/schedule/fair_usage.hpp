// How much each user had of the GPUs lately.
#pragma once

#include <cstdint>
#include <map>

namespace carpool::schedule {

// GPU-seconds at the speed alone: who was slowed down by a neighbour pays for what came out. What
// was used half a day ago counts half.
class FairUsage {
 public:
  void began(std::uint32_t uid, double speed, double now_s);
  // With the values that it began with.
  void ended(std::uint32_t uid, double speed, double began_s, double now_s);

  // From now on a user counts, though he used nothing yet.
  void came(std::uint32_t uid) { users_.try_emplace(uid); }

  [[nodiscard]] double mean(double now_s) const;  // of all users
  // 1 for who used nothing, 1/16 at the mean, 1/81 at twice the mean: enough that a job of one who
  // had nothing goes before those that another has queued for hours.
  [[nodiscard]] double weight(std::uint32_t uid, double now_s, double mean) const;

 private:
  struct User {
    double past = 0.0;  // GPU-seconds of what has ended, as of since_s
    double since_s = 0.0;
    double speed = 0.0;        // of all that runs, added
    double speed_began = 0.0;  // each times when it began, added
  };

  [[nodiscard]] static double used(const User& user, double now_s);

  std::map<std::uint32_t, User> users_;
};

}  // namespace carpool::schedule
