// Ranks the groups in which a workload could share a GPU, each with reasons.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/forecast.hpp"
#include "core/group.hpp"
#include "predict/objective.hpp"
#include "predict/predictor.hpp"

namespace carpool::assign {

struct RankedGroup {
  Group group;                                           // the target first
  std::optional<GroupForecast> forecast = std::nullopt;  // empty: over memory, so not forecast
  predict::Score score = {};              // infeasible: over memory, or the floor is broken
  std::vector<std::string> reasons = {};  // the decisive one first
};

struct PartnerRequest {
  std::size_t target = 0;
  // Each holds the workloads that would join the target: one for a pair, two for a triple, …
  std::vector<std::vector<std::size_t>> candidates;
  predict::Objective objective;
  std::optional<double> memory_gib = std::nullopt;  // of the GPU; empty: no limit
};

// Every candidate, best first; infeasible ones last, those over memory at the end.
[[nodiscard]] Result<std::vector<RankedGroup>> rank_partners(const predict::Predictor& predictor,
                                                             const PartnerRequest& request);

// The same for any groups; `target_name` is what reasons call the first member ("you").
[[nodiscard]] Result<std::vector<RankedGroup>> rank_groups(const predict::Predictor& predictor,
                                                           std::span<const Group> groups,
                                                           const predict::Objective& objective,
                                                           std::optional<double> memory_gib,
                                                           std::string_view target_name);

// Every choice of `count` from the pool, as candidates for rank_partners.
[[nodiscard]] std::vector<std::vector<std::size_t>> choices(std::span<const std::size_t> pool,
                                                            std::size_t count);

}  // namespace carpool::assign
