// Tells systemd how a service is: ready, alive, about to end.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace carpool::app {

// Does nothing where no service manager listens ($NOTIFY_SOCKET).
void notify_service(std::string_view state);

// How often the service manager wants to hear that we live; empty: not at all.
[[nodiscard]] std::optional<std::chrono::microseconds> watchdog_interval();

}  // namespace carpool::app
