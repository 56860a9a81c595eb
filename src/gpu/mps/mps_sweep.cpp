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

// A folder of Carpool whose owner has died.
bool is_abandoned(const MpsFolder& folder) {
  if (!folder.check()) {
    return false;
  }
  const Result<std::optional<ProcessIdentity>> owner = folder.owner();
  return owner && *owner && !is_alive(**owner);
}

std::vector<MpsFolder> abandoned(const std::filesystem::path& root, std::error_code& error) {
  std::vector<MpsFolder> found;
  for (const auto& entry : std::filesystem::directory_iterator(root, error)) {
    const Result<MpsFolder> folder = MpsFolder::at(entry.path());
    if (folder && is_abandoned(*folder)) {
      found.push_back(*folder);
    }
  }
  std::ranges::sort(found, {}, [](const MpsFolder& folder) { return folder.root(); });
  return found;
}

Result<void> sweep(const MpsFolder& folder) {
  const Result<std::filesystem::path> program = find_mps_program();
  if (!program) {
    return tl::unexpected(program.error());
  }
  // take_over() checks the owner again, now under the lock.
  const Result<Descriptor> lock = folder.lock();
  if (!lock) {
    return tl::unexpected(lock.error());
  }
  return take_over(MpsControl(*program, folder)).map([&] {
    folder.remove(MpsFolder::Logs::Remove);
  });
}

}  // namespace

Result<bool> sweep_dead_daemon(const std::filesystem::path& folder) {
  const Result<MpsFolder> place = MpsFolder::at(folder);
  if (!place) {
    return tl::unexpected(place.error());
  }
  if (!is_abandoned(*place)) {
    return false;
  }
  return sweep(*place).map([] { return true; });
}

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
  for (const MpsFolder& folder : folders) {
    if (const Result<void> done = sweep(folder); !done) {
      log_warning(done.error().message);
      continue;
    }
    swept.push_back(folder.root());
  }
  return swept;
}

}  // namespace carpool::gpu
