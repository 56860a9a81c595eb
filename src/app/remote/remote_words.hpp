// The command that connects to another machine, and messages of a connection that failed.
#pragma once

#include <string>
#include <vector>

#include "app/remote/remote_access.hpp"

namespace carpool::app {

// ssh, which asks nothing and forwards nothing, and the program that it starts.
[[nodiscard]] std::vector<std::string> ssh_command(const RemoteAccess& access);

// Why the certificate of a server is not accepted, by the code of OpenSSL, and what to do.
[[nodiscard]] std::string certificate_problem(const RemoteAccess& access, long code);

}  // namespace carpool::app
