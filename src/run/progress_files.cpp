#include "run/progress_files.hpp"

#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files/step_file_format.hpp"
#include "base/process/descriptor.hpp"
#include "base/text/progress_pattern.hpp"
#include "gpu/cupti/injection.hpp"
#include "gpu/cupti/window_file.hpp"

namespace carpool::run {
namespace {

constexpr const char* kStepVariable = "CARPOOL_STEP_FILE";

// Users pass through it to their files, and cannot list it.
Result<void> make_passable_folder(const std::filesystem::path& path) {
  constexpr mode_t kPassable = 0711;
  if ((::mkdir(path.c_str(), kPassable) != 0 && errno != EEXIST) ||
      ::chmod(path.c_str(), kPassable) != 0) {
    return fail(ErrorCode::Internal, fmt::format("make {}: {}", path.string(), last_error()));
  }
  return {};
}

// It counts, and never holds a job.
Result<void> make_step_file(const std::filesystem::path& path, std::optional<uid_t> owner) {
  constexpr std::uint32_t kSteps = 1024;
  const std::string bytes = step_file_format::counting_file(kSteps);
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.valid() ||
      ::write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      (owner && ::fchown(file.get(), *owner, static_cast<gid_t>(-1)) != 0)) {
    return fail(ErrorCode::Internal,
                fmt::format("create the step file {}: {}", path.string(), last_error()));
  }
  return {};
}

}  // namespace

ProgressFiles ProgressFiles::of(const std::filesystem::path& place, RunId run) {
  return ProgressFiles(place / fmt::format("{}.{}", run.job, run.attempt));
}

Result<std::map<std::string, std::string>> ProgressFiles::make(
    const ProgressPlace& place,
    const LaunchSpec& spec,
    const std::map<std::string, std::string>& env) const {
  std::map<std::string, std::string> variables;
  if (place.folder.empty() || spec.job.progress == kNoProgress) {
    return variables;
  }
  const std::optional<uid_t> owner =
      ::geteuid() == 0 ? std::optional<uid_t>(spec.owner.uid) : std::nullopt;
  std::error_code ignored;
  std::filesystem::create_directories(place.folder.parent_path(), ignored);
  remove();  // of an attempt whose state was lost
  Result<void> made = make_passable_folder(place.folder.parent_path())
                          .and_then([&] { return make_passable_folder(place.folder); })
                          .and_then([&] { return make_passable_folder(folder_); });
  if (made && !env.contains(kStepVariable)) {
    made = make_step_file(step_file(), owner);
    variables = {{kStepVariable, step_file().string()}};
  }
  if (made && !place.library.empty()) {
    auto counting = gpu::window_environment(place.library, window_file(), env);
    if (!counting.empty()) {
      made = gpu::WindowFile::create(window_file(), owner).map([](const auto&) {});
    }
    variables.merge(counting);
  }
  return made.map([&] { return variables; });
}

void ProgressFiles::remove() const {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace carpool::run
