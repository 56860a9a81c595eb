#include "base/log.hpp"

#include <cstdlib>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "base/text/printable.hpp"

namespace carpool {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::Debug:
      return spdlog::level::debug;
    case LogLevel::Info:
      return spdlog::level::info;
    case LogLevel::Warning:
      return spdlog::level::warn;
    case LogLevel::Error:
      return spdlog::level::err;
    case LogLevel::Off:
      break;
  }
  return spdlog::level::off;
}

// systemd names the device and inode of the stream that it reads into the journal.
bool stderr_is_journal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat status{};
  return stream != nullptr && ::fstat(STDERR_FILENO, &status) == 0 &&
         fmt::format("{}:{}", status.st_dev, status.st_ino) == stream;
}

// The prefix from which the journal takes the field PRIORITY.
std::string_view journal_priority(LogLevel level) {
  switch (level) {
    case LogLevel::Debug:
      return "<7>";
    case LogLevel::Warning:
      return "<4>";
    case LogLevel::Error:
      return "<3>";
    case LogLevel::Info:
    case LogLevel::Off:
      break;
  }
  return "<6>";
}

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto created = spdlog::stderr_color_mt("carpool");
    // The journal has name and level as fields of their own.
    created->set_pattern(stderr_is_journal() ? "%v" : "carpool: %^%l%$: %v");
    created->set_level(spdlog::level::info);
    return created;
  }();
  return *instance;
}

}  // namespace

void set_log_level(LogLevel level) {
  logger().set_level(to_spdlog(level));
}

void log_message(LogLevel level, std::string_view message) {
  static const bool journal = stderr_is_journal();
  logger().log(to_spdlog(level),
               journal ? fmt::format("{}{}", journal_priority(level), printable(message))
                       : printable(message));
}

}  // namespace carpool
