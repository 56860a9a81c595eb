// What the MPS control program answers, turned into values. Pure functions: whatever the program
// says, garbage included, gives a value or an error.
#pragma once

#include <optional>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "base/result.hpp"
#include "gpu/mps/mps_daemon.hpp"

namespace carpool::gpu {

// `help` is what -h prints, `version` what -v prints. Whatever is not named there is absent.
[[nodiscard]] MpsAbilities parse_mps_abilities(std::string_view help, std::string_view version);

// One process number a line, as get_server_list and get_client_list answer. NotFound when it says
// that there is no such server: one that ended after we heard of it.
[[nodiscard]] Result<std::vector<pid_t>> parse_mps_pids(std::string_view answer);

// Of get_server_status. False too for a program that does not know the command.
[[nodiscard]] bool parse_mps_fault(std::string_view answer);

// Of terminate_client: complaints, then 0 or an error number.
[[nodiscard]] Result<void> parse_mps_termination(std::string_view answer);

// The content of the pid file; nothing unless it is one number above 1.
[[nodiscard]] std::optional<pid_t> parse_mps_pid_file(std::string_view content);

}  // namespace carpool::gpu
