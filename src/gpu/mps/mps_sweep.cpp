#include <algorithm>
#include <system_error>

#include <fmt/format.h>

#include "base/log.hpp"
#include "gpu/mps/mps_control.hpp"
#include "gpu/mps/mps_daemon.hpp"
#include "gpu/mps/mps_ending.hpp"
#include "gpu/mps/mps_folder.hpp"

namespace carpool::gpu {
namespace {

// Folders of Carpool in `root` whose owner has died.
std::vector<MpsFolder> abandoned(const std::filesystem::path& root, std::error_code& error) {
  std::vector<MpsFolder> found;
  for (const auto& entry : std::filesystem::directory_iterator(root, error)) {
    const Result<MpsFolder> folder = MpsFolder::at(entry.path());
    if (!folder || !folder->check()) {
      continue;
    }
    const Result<std::optional<ProcessIdentity>> owner = folder->owner();
    if (owner && *owner && !is_alive(**owner)) {
      found.push_back(*folder);
    }
  }
  std::ranges::sort(found, {}, [](const MpsFolder& folder) { return folder.root(); });
  return found;
}

}  // namespace

Result<std::vector<std::filesystem::path>> sweep_dead_daemons(const std::filesystem::path& root) {
  std::error_code error;
  const std::vector<MpsFolder> folders = abandoned(root, error);
  if (error && error != std::errc::no_such_file_or_directory) {
    return fail(
        ErrorCode::Internal,
        fmt::format(
            "cannot look for left-over MPS daemons in {}: {}", root.string(), error.message()));
  }
  std::vector<std::filesystem::path> swept;
  if (folders.empty()) {
    return swept;
  }
  const Result<std::filesystem::path> program = find_mps_program();
  if (!program) {
    return tl::unexpected(program.error());
  }
  for (const MpsFolder& folder : folders) {
    // take_over() checks the owner again, now under the lock.
    const Result<Descriptor> lock = folder.lock();
    const Result<void> taken =
        lock ? take_over(MpsControl(*program, folder)) : tl::unexpected(lock.error());
    if (!taken) {
      log_warning(taken.error().message);
      continue;
    }
    folder.remove(MpsFolder::Logs::Remove);
    swept.push_back(folder.root());
  }
  return swept;
}

}  // namespace carpool::gpu
