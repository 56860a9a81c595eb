// Adds members to a group one by one while the objective rises and the limits allow it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "assign/partners.hpp"
#include "base/result.hpp"
#include "core/group.hpp"
#include "predict/objective.hpp"
#include "predict/predictor.hpp"

namespace carpool::assign {

struct GrowRequest {
  std::vector<std::size_t> start;  // profiles; at least one, the target first
  std::vector<std::size_t> pool;   // profiles that may join; each entry at most once
  predict::Objective objective;
  std::optional<double> memory_gib = std::nullopt;
  std::size_t max_size = 4;
};

struct GrownGroup {
  Group group;
  RankedGroup start;               // before the first addition
  std::vector<RankedGroup> steps;  // the group after each addition; its last member is the new one
  std::string stopped_because;
};

// Each step adds the member that scores best. Ends at max_size, when the pool is empty, when no
// workload of the pool fits into memory and keeps the floor, or when the objective would no longer
// rise. The last does not apply to max-min, which every addition lowers: there floor, memory and
// size decide.
[[nodiscard]] Result<GrownGroup> grow_group(const predict::Predictor& predictor,
                                            const GrowRequest& request);

}  // namespace carpool::assign
