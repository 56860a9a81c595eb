// The beliefs of users as JSON. Workloads are named by their place in the list of their user.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"
#include "knowledge/belief_store.hpp"

namespace carpool::knowledge {

// Keys of solo speeds, by ProgressSource.
inline constexpr std::array kSourceKeys = {"steps", "output", "launches"};
static_assert(kSourceKeys.size() == kProgressSources);

[[nodiscard]] nlohmann::json user_list(const BeliefStore& store);
// Adds one user of the list; every number is checked.
[[nodiscard]] Result<void> read_user(const nlohmann::json& content, BeliefStore& store);

// Latencies of one user; `places` and `slots`: from the number of a workload to its place, and
// back.
[[nodiscard]] nlohmann::json latency_list(const LatencyMemory& latencies,
                                          std::span<const std::uint32_t> places);
[[nodiscard]] Result<void> read_latency(const nlohmann::json& content,
                                        std::span<const std::uint32_t> slots,
                                        LatencyMemory& latencies);

}  // namespace carpool::knowledge
