#include "schedule/recovery.hpp"

#include <algorithm>
#include <array>

#include "base/text/names.hpp"

namespace carpool::schedule {
namespace {

constexpr std::array<RecoveryRuleInfo, 3> kRules = {{
    {.rule = RecoveryRule::Reserve,
     .name = "reserve",
     .line = "default: again at once, with a reservation computed from the failure"},
    {.rule = RecoveryRule::Carma,
     .name = "carma",
     .line = "exclusively, before all other jobs; no job shares meanwhile"},
    {.rule = RecoveryRule::Aegis,
     .name = "aegis",
     .line = "with a memory floor of 25, 50, 75 % of the GPU, at most 8 GiB more each time"},
}};

// Margin above what is known: the allocation that failed is seldom the last of a step.
constexpr double kRoom = 1.10;
// Growth of the reservation where the memory held is not known.
constexpr double kBlindGrowth = 1.5;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;
constexpr std::uint64_t kAegisStep = 8 * kGiB;
constexpr std::array<double, 3> kAegisFloors = {0.25, 0.50, 0.75};

std::uint64_t scaled(std::uint64_t bytes, double factor) {
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * factor);
}

}  // namespace

std::span<const RecoveryRuleInfo> recovery_rules() {
  return kRules;
}

Result<RecoveryRule> recovery_rule(std::string_view name) {
  return find_named(recovery_rules(), "recovery rule", name).map([](const RecoveryRuleInfo* info) {
    return info->rule;
  });
}

std::uint64_t next_reservation(const RunExit& exit,
                               std::uint64_t reserved_bytes,
                               std::optional<std::uint64_t> peak_bytes,
                               std::uint64_t gpu_bytes) {
  const std::uint64_t held = std::max(exit.held_bytes.value_or(0), peak_bytes.value_or(0));
  const bool known = exit.wanted_bytes && held > 0;
  // The reservation always grows: the same one again might fail again.
  const std::uint64_t next =
      known ? scaled(std::max(held + *exit.wanted_bytes, reserved_bytes), kRoom)
            : scaled(std::max(held, reserved_bytes), kBlindGrowth) + exit.wanted_bytes.value_or(0);
  return std::min(std::max(next, kGiB), gpu_bytes);
}

bool reached_limit(const RunExit& exit,
                   std::uint64_t limit_bytes,
                   std::optional<std::uint64_t> peak_bytes) {
  // CUDA's own memory counts towards a limit, and messages leave some of it out.
  const std::uint64_t slack = std::min(kGiB, limit_bytes / 4);
  const bool sizes = exit.held_bytes && exit.wanted_bytes;
  return (sizes ? *exit.held_bytes + *exit.wanted_bytes : peak_bytes.value_or(0)) + slack >
         limit_bytes;
}

std::uint64_t next_cap(const RunExit& exit,
                       std::uint64_t cap_bytes,
                       std::uint64_t gpu_bytes,
                       unsigned processes) {
  const std::uint64_t wanted =
      (exit.held_bytes.value_or(0) + exit.wanted_bytes.value_or(0)) * processes;
  return std::min(std::max(scaled(wanted, kRoom), 2 * cap_bytes), gpu_bytes);
}

std::uint64_t next_floor(unsigned failures, std::uint64_t floor_bytes, std::uint64_t gpu_bytes) {
  const std::size_t step = std::clamp<std::size_t>(failures, 1, kAegisFloors.size()) - 1;
  const std::uint64_t target = scaled(gpu_bytes, kAegisFloors.at(step));
  return std::max(floor_bytes, std::min(target, floor_bytes + kAegisStep));
}

}  // namespace carpool::schedule
