// How a supervisor reaches the MPS daemon of its job: with the rights of the job's user.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/result.hpp"
#include "gpu/mps/mps_control.hpp"
#include "run/start_trouble.hpp"
#include "run/supervisor/supervisor_order.hpp"

namespace carpool::run {

[[nodiscard]] Result<gpu::MpsControl> control_of(const MpsPlace& place);
[[nodiscard]] std::filesystem::path control_log(const MpsPlace& place);
[[nodiscard]] std::filesystem::path server_log(const MpsPlace& place);

// What `work` returns in a process with the job's rights: a root supervisor does not use a user's
// pipe itself.
[[nodiscard]] Started<std::string> as_job_user(const SupervisorOrder& order,
                                               const std::function<std::string()>& work);

}  // namespace carpool::run
