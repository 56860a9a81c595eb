// What becomes of a job that ran out of memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "core/run.hpp"

namespace carpool::schedule {

enum class RecoveryRule {
  Reserve,  // ours: back into the queue at once, with a reservation taken from the failure itself
  Carma,    // exclusively, before everybody else, and nobody shares meanwhile
  Aegis,    // the memory floor raised step by step
};

struct RecoveryRuleInfo {
  RecoveryRule rule;
  std::string_view name;
  std::string_view line;
};

[[nodiscard]] std::span<const RecoveryRuleInfo> recovery_rules();
[[nodiscard]] Result<RecoveryRule> recovery_rule(std::string_view name);

// The reservation of the next attempt under Reserve: at least what it held and asked for in vain,
// with room; at most the GPU.
[[nodiscard]] std::uint64_t next_reservation(const RunExit& exit,
                                             std::uint64_t reserved_bytes,
                                             std::optional<std::uint64_t> peak_bytes,
                                             std::uint64_t gpu_bytes);

// The memory floor of the next attempt under Aegis, after so many failures for want of memory.
[[nodiscard]] std::uint64_t next_floor(unsigned failures,
                                       std::uint64_t floor_bytes,
                                       std::uint64_t gpu_bytes);

}  // namespace carpool::schedule
