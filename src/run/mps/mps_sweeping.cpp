#include "run/mps/mps_sweeping.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/process/descriptor.hpp"
#include "base/process/spawn.hpp"
#include "gpu/mps/mps_daemon.hpp"
#include "run/mps/mps_locks.hpp"

namespace carpool::run {
namespace {

constexpr unsigned kSweepLimitS = 60;

// To end one's own daemon the user is enough; groups are dropped.
bool become_owner(uid_t uid) {
  if (::geteuid() != 0 || uid == 0) {
    return ::geteuid() == uid;
  }
  std::array<char, 16384> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  constexpr gid_t kNobody = 65534;
  const gid_t gid = found == nullptr ? kNobody : entry.pw_gid;
  return ::setgroups(0, nullptr) == 0 && ::setresgid(gid, gid, gid) == 0 &&
         ::setresuid(uid, uid, uid) == 0;
}

void sweep_place(const std::filesystem::path& mps, const std::string& place, uid_t uid) {
  const Result<Descriptor> users = open_mps_lock(mps_users_file(mps, place));
  // Supervisors of older versions lock another file.
  const std::filesystem::path old = mps / (place + ".users");
  const Descriptor old_users(::open(old.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!users || !try_lock(*users, LOCK_EX) ||
      (old_users.valid() && !try_lock(old_users, LOCK_EX))) {
    return;
  }
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(kSweepLimitS);  // the user can hold what is in the user's folder
    const bool swept = become_owner(uid) && gpu::sweep_dead_daemon(mps / place).has_value();
    ::_exit(swept ? 0 : 1);
  }
  while (pid > 0 && ::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

std::string write_place_name(const MpsPlaceName& name) {
  return fmt::format("{}-{}", name.gpu, name.uid);
}

std::optional<MpsPlaceName> read_place_name(std::string_view text) {
  MpsPlaceName name;
  const char* const end = text.data() + text.size();
  const auto [dash, gpu_error] = std::from_chars(text.data(), text.data() + text.size(), name.gpu);
  if (gpu_error != std::errc{} || dash == end || *dash != '-') {
    return std::nullopt;
  }
  const auto [rest, uid_error] = std::from_chars(dash + 1, end, name.uid);
  return uid_error == std::errc{} && rest == end ? std::optional(name) : std::nullopt;
}

std::filesystem::path mps_lock_folder(const std::filesystem::path& mps) {
  return mps / "locks";
}

std::filesystem::path mps_users_file(const std::filesystem::path& mps, const std::string& place) {
  return mps_lock_folder(mps) / (place + ".users");
}

int sweep_mps(const std::filesystem::path& mps) {
  if (const pid_t pid = ::fork(); pid != 0) {
    return pid < 0 ? 1 : 0;
  }
  ::setsid();
  leave_streams();
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(mps, error)) {
    const std::string place = entry.path().filename().string();
    const std::optional<MpsPlaceName> name = read_place_name(place);
    struct stat status{};
    if (name && ::lstat(entry.path().c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
        status.st_uid == name->uid) {
      sweep_place(mps, place, name->uid);
    }
  }
  return error ? 1 : 0;
}

}  // namespace carpool::run
