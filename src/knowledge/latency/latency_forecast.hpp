// Latency of requests in a group, by memory or by law, with 90 % intervals.
#pragma once

#include <optional>

#include "core/latency.hpp"
#include "core/learner.hpp"
#include "knowledge/belief_store.hpp"

namespace carpool::knowledge {

// What is measured of the member of a group is kept under this key. Empty: a workload was never
// seen, or is another user's.
[[nodiscard]] std::optional<LatencyMemory::Key> latency_key(const BeliefStore& store,
                                                            const LatencyQuestion& question);
// What the learner hears of a member, as a question.
[[nodiscard]] LatencyQuestion latency_question(const GroupSeen& seen, std::size_t member);

// What an entry says, with the widths of its user left out.
[[nodiscard]] LatencyForecast measured_latency(const BeliefStore& store,
                                               const LatencyMemory::Entry& entry,
                                               double width = 1.0);

// Empty: too little is known.
[[nodiscard]] std::optional<LatencyForecast> latency_forecast(const BeliefStore& store,
                                                              const LatencyQuestion& question);

}  // namespace carpool::knowledge
