#include "app/server/gpu_claims.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files/file.hpp"
#include "base/files/proc_file.hpp"
#include "base/process/descriptor.hpp"
#include "base/process/process_table.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

constexpr const char* kEnded = "ended";

// When a process began, in ticks since boot: a later process with its number has another. kEnded:
// it waits for its parent to notice its end. Empty: there is no such process, or it is hidden from
// this user.
std::string began_at(pid_t pid) {
  const std::string text = read_proc_file(fmt::format("/proc/{}/stat", pid));
  // The name, in parentheses, may contain blanks. The value is the 20th behind it.
  std::istringstream rest(text.substr(std::min(text.rfind(')') + 1, text.size())));
  constexpr int kPlace = 20;
  std::string word;
  for (int place = 0; place < kPlace; ++place) {
    word.clear();
    rest >> word;
    if (place == 0 && (word == "Z" || word == "X")) {
      return kEnded;
    }
  }
  return word;
}

bool lives(pid_t pid, const std::string& began) {
  const std::string now = began_at(pid);
  if (!now.empty()) {
    return now == began;
  }
  // Where /proc hides the processes of other users.
  return pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM);
}

Result<void> make_claims_folder(const std::filesystem::path& folder) {
  constexpr mode_t kPassable = 0711;
  constexpr mode_t kReadable = 0755;
  for (const auto& [path, mode] :
       {std::pair(folder.parent_path(), kPassable), std::pair(folder, kReadable)}) {
    if (::mkdir(path.c_str(), mode) == 0 && ::chmod(path.c_str(), mode) == 0) {
      continue;
    }
    struct stat status{};
    if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
        status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
      return fail(
          ErrorCode::Internal,
          fmt::format("{} is not a folder that only root can write: remove it", path.string()));
    }
  }
  return {};
}

// Two servers that start at once look at the claims one after the other. Only root can open the
// file, so the wait is short.
Result<Descriptor> lock_claims(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "lock";
  Descriptor lock(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid() || ::flock(lock.get(), LOCK_EX) != 0) {
    return fail(ErrorCode::Internal, fmt::format("lock {}: {}", file.string(), last_error()));
  }
  return lock;
}

}  // namespace

std::optional<GpuClaim> read_claim(const std::string& uuid, const std::filesystem::path& folder) {
  const Result<std::string> text = read_file(folder / uuid);
  const json claim = text ? json::parse(*text, nullptr, /*allow_exceptions=*/false) : json();
  if (!claim.is_object() || !claim.contains("pid") || !claim["pid"].is_number_integer()) {
    return std::nullopt;
  }
  const auto text_of = [&](const char* key) {
    return claim.contains(key) && claim[key].is_string() ? claim[key].get<std::string>() : "";
  };
  GpuClaim found{.pid = claim["pid"].get<pid_t>(), .socket = text_of("socket")};
  if (text_of("boot") != boot_id() || !lives(found.pid, text_of("began"))) {
    return std::nullopt;
  }
  return found;
}

GpuClaims::GpuClaims(GpuClaims&& other) noexcept : files_(std::exchange(other.files_, {})) {}

GpuClaims& GpuClaims::operator=(GpuClaims&& other) noexcept {
  std::swap(files_, other.files_);
  return *this;
}

GpuClaims::~GpuClaims() {
  for (const std::filesystem::path& file : files_) {
    ::unlink(file.c_str());
  }
}

Result<std::optional<GpuClaims::Taken>> GpuClaims::take(const std::vector<std::string>& uuids,
                                                        const std::filesystem::path& socket,
                                                        const std::filesystem::path& folder) {
  if (const Result<void> made = make_claims_folder(folder); !made) {
    return tl::unexpected(made.error());
  }
  const Result<Descriptor> lock = lock_claims(folder);
  if (!lock) {
    return tl::unexpected(lock.error());
  }
  for (const std::string& uuid : uuids) {
    if (const auto claim = read_claim(uuid, folder)) {
      return Taken{.uuid = uuid, .claim = *claim};
    }
  }
  const json claim = {{"pid", ::getpid()},
                      {"began", began_at(::getpid())},
                      {"boot", boot_id()},
                      {"socket", socket.string()}};
  for (const std::string& uuid : uuids) {
    const std::filesystem::path file = folder / uuid;
    constexpr mode_t kReadable = 0644;
    const Result<void> written =
        write_file(file, claim.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
    if (!written || ::chmod(file.c_str(), kReadable) != 0) {
      return fail(
          ErrorCode::Internal,
          written ? fmt::format("{}: {}", file.string(), last_error()) : written.error().message);
    }
    files_.push_back(file);
  }
  return std::optional<Taken>();
}

}  // namespace carpool::app
