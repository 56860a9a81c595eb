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
#include "core/latency.hpp"
#include "core/learner.hpp"
#include "knowledge/belief_store.hpp"

namespace carpool::knowledge {

// Requests of a member since its group came together.
struct LiveLatency {
  std::optional<LatencyForecast> predicted{};  // before anything was measured of this group
  bool seen = false;
  // When the group came together:
  std::uint64_t fewest_then = 0;  // MeasuredLatency::fewest
  double tail_then_ms = 0.0;
  // At the last look:
  std::uint64_t fewest_last = 0;
  double tail_last_ms = 0.0;
  // When it had settled:
  bool begun = false;
  std::uint64_t requests_before = 0;  // MeasuredLatency::requests
  std::uint64_t fewest_before = 0;
  unsigned processes = 0;
  double begun_at_s = 0.0;
  std::uint64_t learned = 0;  // requests that were used
  bool scored = false;        // the prediction was compared
  std::uint64_t requests = 0;
  double p50_ms = 0.0;  // 0: not known
  double tail_ms = 0.0;
};

struct LiveMember {
  JobId job = 0;
  std::uint32_t slot = kNone;
  ProgressForecast predicted{};    // before anything was measured of this group
  double activity_variance = 0.0;  // when the group came together
  double rated_at_s = -std::numeric_limits<double>::infinity();
  LiveLatency latency{};
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
  // Null: it does not compute, or its group teaches nothing.
  [[nodiscard]] const LiveGroup* group_of(JobId job) const;

 private:
  std::map<unsigned, LiveGroup> groups_;
};

// Progress of the group by the prior model; empty where it does not know all members.
[[nodiscard]] std::vector<double> prior_progress(const BeliefStore& store,
                                                 std::span<const InterferenceMember> group);

}  // namespace carpool::knowledge
