// Parses the answers of the MPS control program. Any text gives a value or an error.
#pragma once

#include <optional>
#include <set>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "base/result.hpp"
#include "gpu/mps/mps_daemon.hpp"

namespace carpool::gpu {

// `help` is the output of -h, `version` that of -v. Features that they do not name are absent.
[[nodiscard]] MpsAbilities parse_mps_abilities(std::string_view help, std::string_view version);

// Answer of get_server_list and get_client_list: one PID per line. NotFound if the server no longer
// exists.
[[nodiscard]] Result<std::vector<pid_t>> parse_mps_pids(std::string_view answer);

// Answer of get_server_status. False if the program does not know the command.
[[nodiscard]] bool parse_mps_fault(std::string_view answer);

// Answer of terminate_client: messages, then 0 or an error number.
[[nodiscard]] Result<void> parse_mps_termination(std::string_view answer);

// Fatal errors of the GPU (illegal addresses, …) that the log of an MPS server reports. All clients
// of the server fail then; which of them caused it is not told.
struct MpsFatalErrors {
  bool any = false;
  std::set<pid_t> clients{};  // that it names
};
[[nodiscard]] MpsFatalErrors parse_mps_fatal_errors(std::string_view log);

// Content of the pid file; nothing unless it is one number above 1.
[[nodiscard]] std::optional<pid_t> parse_mps_pid_file(std::string_view content);

}  // namespace carpool::gpu
