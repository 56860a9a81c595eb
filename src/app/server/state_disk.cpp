#include "app/server/state_disk.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/process/descriptor.hpp"
#include "base/text/memory_size.hpp"

namespace carpool::app {
namespace {

constexpr double kWarnAgainBelow = 0.85;  // a disk at the edge is not reported every second
constexpr const char* kWhatToDo =
    "`carpool prune --older-than 7d` removes outputs of ended jobs, `carpool serve --keep-outputs` "
    "does so by itself";

}  // namespace

double DiskSpace::used_ratio() const {
  return total_bytes == 0
             ? 0.0
             : 1.0 - static_cast<double>(free_bytes) / static_cast<double>(total_bytes);
}

std::optional<DiskSpace> space_of(const std::filesystem::path& folder) {
  struct statvfs status{};
  if (::statvfs(folder.c_str(), &status) != 0) {
    return std::nullopt;
  }
  // Blocks that only root may use do not count, as in df.
  const std::uint64_t used = status.f_blocks - status.f_bfree;
  return DiskSpace{.total_bytes = (used + status.f_bavail) * status.f_frsize,
                   .free_bytes = status.f_bavail * status.f_frsize};
}

StateDisk::StateDisk(std::filesystem::path state, Reading reading)
    : state_(std::move(state)), reading_(std::move(reading)) {
  if (!reading_) {
    reading_ = [this] { return space_of(state_); };
  }
}

void StateDisk::look() {
  if (const auto space = reading_()) {
    space_ = *space;
    keep_reserve();
    warn();
    close_or_open();
  }
}

void StateDisk::keep_reserve() {
  const std::filesystem::path file = state_ / "reserve";
  std::error_code ignored;
  const bool present = std::filesystem::exists(file, ignored);
  if (present && space_.free_bytes < kReserve / 2) {
    std::filesystem::remove(file, ignored);
    log_warning(fmt::format("the disk of {} is full; the journal uses its reserve of {} MiB",
                            state_.string(),
                            kReserve >> 20U));
  } else if (!present && space_.free_bytes > kLeastFree + kReserve) {
    const Descriptor made(
        ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!made.valid() || ::posix_fallocate(made.get(), 0, static_cast<off_t>(kReserve)) != 0) {
      std::filesystem::remove(file, ignored);
    }
  }
}

void StateDisk::warn() {
  if (!warned_ && space_.used_ratio() >= kWarnAbove) {
    warned_ = true;
    log_warning(fmt::format("the disk of {} is {:.0f} % full, {} are free; {}",
                            state_.string(),
                            100.0 * space_.used_ratio(),
                            gib_text(space_.free_bytes),
                            kWhatToDo));
  } else if (space_.used_ratio() < kWarnAgainBelow) {
    warned_ = false;
  }
}

void StateDisk::close_or_open() {
  const bool closed = !why_closed_.empty();
  if (!closed && space_.free_bytes < kLeastFree) {
    why_closed_ = fmt::format(
        "the disk of the server's state folder {} is full ({} MiB are free): no job starts until "
        "{} "
        "MiB are free; {}",
        state_.string(),
        space_.free_bytes >> 20U,
        (kLeastFree + kReserve) >> 20U,
        kWhatToDo);
    log_warning(why_closed_);
  } else if (closed && space_.free_bytes >= kLeastFree + kReserve) {
    why_closed_.clear();
    log_info("the disk of the state folder has space again; jobs start");
  }
}

}  // namespace carpool::app
