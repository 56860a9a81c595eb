// The rules that every placement of every policy must keep. The scheduler checks them before a job
// starts; a policy only chooses among what they leave.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/placement_policy.hpp"

namespace carpool::schedule {

struct Violation {
  Constraint constraint = Constraint::NoGpu;
  std::string what{};  // "placed it on GPU 1, which lacks 3.0 GiB"
};

// The first rule that the placement of this job on these GPUs would break; empty: none.
//
// GPUs: as many as requested, existing, usable, all different, and such as the job may run on.
// Memory: the need and the reservation fit into what is free on each GPU. A reservation is at least
// the need, or 0: a policy that reserves nothing (CARMA, AEGIS) over-reserves nothing. A job of
// unknown need may reserve a whole GPU that runs no other job. A cap is at most the reservation.
// Exclusive jobs, and all without a sharing mechanism, run alone.
// A job with an SLO runs beside jobs of its own user only.
// MPS: one user, at most kMostMpsClients jobs, only jobs on one GPU, only where it is possible.
// Thread limit and predicted progress are numbers in range.
[[nodiscard]] std::optional<Violation> find_violation(std::span<const GpuView> gpus,
                                                      const QueuedJob& job,
                                                      const Placement& placement);

// What the job's owner is told.
[[nodiscard]] Deferral refusal(std::string_view policy, JobId job, const Violation& violation);

}  // namespace carpool::schedule
