#include "app/server/drain_file.hpp"

#include <system_error>

#include <fmt/format.h>

#include "base/files/file.hpp"
#include "serve/units.hpp"

namespace carpool::app {

std::optional<std::string> DrainFile::read() const {
  std::error_code problem;
  const bool present = std::filesystem::exists(file_, problem);
  if (!present && !problem) {
    return std::nullopt;
  }
  std::string text = read_file(file_).value_or("");
  if (text.ends_with('\n')) {
    text.pop_back();
  }
  return text.empty() ? "by an earlier run of the server" : text;
}

Result<std::string> DrainFile::set(const std::string& by, double at_s) const {
  std::string text = fmt::format("by {} since {}", by, serve::show_zoned_time(at_s));
  return write_private_file(file_, text + "\n").map([&] { return std::move(text); });
}

// An end that a crash of the machine undoes costs one more `carpool drain --undo`, and no job.
Result<void> DrainFile::clear() const {
  std::error_code problem;
  std::filesystem::remove(file_, problem);
  if (problem) {
    return fail(ErrorCode::Internal,
                fmt::format("remove {}: {}", file_.string(), problem.message()));
  }
  return {};
}

}  // namespace carpool::app
