// Notifies systemd of the state of a service: ready, alive, stopping.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace carpool::app {

// Does nothing without a service manager ($NOTIFY_SOCKET).
void notify_service(std::string_view state);

// The interval of the watchdog; empty: it is off.
[[nodiscard]] std::optional<std::chrono::microseconds> watchdog_interval();

}  // namespace carpool::app
