// Log messages on standard error, each of one line: text of a user in it can forge neither a
// further message nor a command of the terminal. Hides spdlog, so that it is compiled once.
#pragma once

#include <string>
#include <string_view>

namespace carpool {

enum class LogLevel { Debug, Info, Warning, Error, Off };

// Applies to the whole process; the command line calls it once at start.
void set_log_level(LogLevel level);

void log_message(LogLevel level, std::string_view message);

inline void log_debug(std::string_view message) {
  log_message(LogLevel::Debug, message);
}
inline void log_info(std::string_view message) {
  log_message(LogLevel::Info, message);
}
inline void log_warning(std::string_view message) {
  log_message(LogLevel::Warning, message);
}
inline void log_error(std::string_view message) {
  log_message(LogLevel::Error, message);
}

}  // namespace carpool
