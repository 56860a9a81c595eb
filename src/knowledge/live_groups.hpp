// The groups that compute now: what was predicted when each came together, and how much of what it
// measures was used. Not kept across restarts.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "core/forecast.hpp"
#include "core/job.hpp"
#include "core/learner.hpp"
#include "knowledge/belief_store.hpp"

namespace carpool::knowledge {

struct LiveMember {
  JobId job = 0;
  std::uint32_t slot = kNone;
  ProgressForecast predicted{};    // before anything was measured of this group
  double activity_variance = 0.0;  // when the group came together
  double rated_at_s = -std::numeric_limits<double>::infinity();
  unsigned rates = 0;   // used since the group came together
  bool scored = false;  // the prediction was compared
};

struct LiveGroup {
  std::vector<LiveMember> members{};  // as in GroupSeen
  std::vector<double> prior{};        // progress by the prior model; empty: it does not know all
  std::uint64_t epoch = 0;            // of the store
  double sampled_at_s = -std::numeric_limits<double>::infinity();
};

class LiveGroups {
 public:
  // The group of this GPU, made again where other jobs compute or the store was renumbered.
  [[nodiscard]] LiveGroup& follow(const BeliefStore& store,
                                  const GroupSeen& seen,
                                  std::span<const std::uint32_t> slots);
  void forget(unsigned gpu) { groups_.erase(gpu); }

 private:
  std::map<unsigned, LiveGroup> groups_;
};

// Progress of the group by the prior model; empty where it does not know all members.
[[nodiscard]] std::vector<double> prior_progress(const BeliefStore& store,
                                                 std::span<const InterferenceMember> group);

}  // namespace carpool::knowledge
