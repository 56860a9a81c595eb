#include "run/mps/mps_locks.hpp"

#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <sys/file.h>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"

namespace carpool::run {
namespace {

constexpr std::chrono::milliseconds kTryAgain{10};

}  // namespace

StartWait::StartWait(StopHeard stop_heard, std::chrono::nanoseconds limit)
    : stop_heard_(std::move(stop_heard)), deadline_ns_(monotonic_ns() + limit.count()) {}

Started<void> StartWait::check(TroubleScope scope, std::string_view what) const {
  if (stop_heard_()) {
    return machine_trouble(TroubleScope::Job, "stopped before it started");
  }
  if (monotonic_ns() >= deadline_ns_) {
    return machine_trouble(scope, std::string(what));
  }
  return {};
}

Result<Descriptor> open_mps_lock(const std::filesystem::path& file) {
  Descriptor opened(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!opened.valid()) {
    return fail(ErrorCode::Internal, fmt::format("open {}: {}", file.string(), last_error()));
  }
  return opened;
}

bool try_lock(const Descriptor& file, int operation) {
  int locked = 0;
  do {
    locked = ::flock(file.get(), operation | LOCK_NB);
  } while (locked != 0 && errno == EINTR);
  return locked == 0;
}

Started<Descriptor> lock_mps(const std::filesystem::path& file,
                             int operation,
                             const StartWait& wait) {
  Result<Descriptor> opened = open_mps_lock(file);
  if (!opened) {
    return machine_trouble(TroubleScope::Machine, opened.error().message);
  }
  while (!try_lock(*opened, operation)) {
    if (errno != EWOULDBLOCK) {
      return machine_trouble(TroubleScope::Machine,
                             fmt::format("lock {}: {}", file.string(), last_error()));
    }
    // Jobs of the same user hold it, and the keeper of their daemon.
    const Started<void> goes_on = wait.check(
        TroubleScope::User,
        fmt::format("the MPS daemon of the user neither starts nor stops: {} stays locked",
                    file.string()));
    if (!goes_on) {
      return tl::unexpected(goes_on.error());
    }
    pause_for(kTryAgain);
  }
  return std::move(*opened);
}

}  // namespace carpool::run
