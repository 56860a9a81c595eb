// How a job that ran out of GPU memory starts again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "core/run.hpp"

namespace carpool::schedule {

enum class RecoveryRule {
  Reserve,  // Carpool's own: back into the queue at once, with a reservation computed from the
            // failure
  Carma,    // exclusively, before all other jobs, and no job shares meanwhile
  Aegis,    // the memory floor raised step by step
};

struct RecoveryRuleInfo {
  RecoveryRule rule;
  std::string_view name;
  std::string_view line;
};

[[nodiscard]] std::span<const RecoveryRuleInfo> recovery_rules();
[[nodiscard]] Result<RecoveryRule> recovery_rule(std::string_view name);

// The reservation of the next attempt under Reserve: what the job held plus the allocation that
// failed, with a margin; at most the GPU.
[[nodiscard]] std::uint64_t next_reservation(const RunExit& exit,
                                             std::uint64_t reserved_bytes,
                                             std::optional<std::uint64_t> peak_bytes,
                                             std::uint64_t gpu_bytes);

// Whether an attempt that ran out of memory came up against a limit of its process: by the sizes in
// its message, else by its peak.
[[nodiscard]] bool reached_limit(const RunExit& exit,
                                 std::uint64_t limit_bytes,
                                 std::optional<std::uint64_t> peak_bytes);

// The cap of the next attempt of a job that needed more than its cap. The message tells what one
// process wanted; the cap is divided among all.
[[nodiscard]] std::uint64_t next_cap(const RunExit& exit,
                                     std::uint64_t cap_bytes,
                                     std::uint64_t gpu_bytes,
                                     unsigned processes = 1);

// The memory floor of the next attempt under Aegis, after this many out-of-memory failures.
[[nodiscard]] std::uint64_t next_floor(unsigned failures,
                                       std::uint64_t floor_bytes,
                                       std::uint64_t gpu_bytes);

}  // namespace carpool::schedule
