// What a client sends to the server for a job: its command, the options given, and the folder and
// environment of the caller.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/job_settings.hpp"
#include "base/result.hpp"

namespace carpool::app {

// Of a request here; the server has it in the address.
inline constexpr const char* kHoldKey = "hold";

// The keys of the options that were given, and no other.
[[nodiscard]] Result<nlohmann::json> given_settings(const JobSettings& options);

// The whole request. `command`: a program and its arguments, a job file or a script with #CARPOOL
// lines. Options of the command line override those of the file. `from_afar`: the server is on
// another machine, which receives only the variables that are named: those of this machine may hold
// secrets, and paths of no use there.
[[nodiscard]] Result<nlohmann::json> job_request(const std::vector<std::string>& command,
                                                 const JobSettings& settings,
                                                 bool from_afar);

}  // namespace carpool::app
