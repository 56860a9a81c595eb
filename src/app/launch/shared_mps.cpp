#include "app/launch/shared_mps.hpp"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/files/runtime_folder.hpp"
#include "gpu/mps/mps_control.hpp"
#include "gpu/mps/mps_environment.hpp"
#include "gpu/mps/mps_folder.hpp"

namespace carpool::app {
namespace {

constexpr std::chrono::milliseconds kStopGrace{5000};
constexpr std::chrono::milliseconds kLook{20};
constexpr double kEndingSeconds = 2.0;  // until a process that leaves the daemon has ended

// Short, because the paths of sockets are.
std::filesystem::path folder_of(const std::string& gpu_uuid) {
  return runtime_folder() / fmt::format("run-{}", gpu_uuid.substr(0, 12));
}

// The daemon that another living process owns.
bool answers(const std::filesystem::path& folder) {
  const auto program = gpu::find_mps_program();
  const auto place = gpu::MpsFolder::at(folder);
  std::error_code problem;
  return program && place && std::filesystem::exists(place->pipe(), problem) &&
         gpu::MpsControl(*program, *place).ask("get_server_list").has_value();
}

}  // namespace

Result<Descriptor> lock_launches(const std::string& gpu_uuid) {
  const std::filesystem::path folder = runtime_folder();
  ::mkdir(folder.c_str(), 0700);
  const std::filesystem::path path = folder / fmt::format("run-{}.lock", gpu_uuid);
  Descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock.valid() || ::flock(lock.get(), LOCK_EX) != 0) {
    return fail(ErrorCode::Internal, fmt::format("lock {}: {}", path.string(), last_error()));
  }
  return lock;
}

Result<SharedMps> SharedMps::join(const std::string& gpu_uuid) {
  SharedMps mps;
  mps.gpu_uuid_ = gpu_uuid;
  mps.folder_ = folder_of(gpu_uuid);
  if (auto adopted = gpu::MpsDaemon::adopt(gpu_uuid, mps.folder_)) {
    mps.daemon_ = std::move(*adopted);
  } else if (answers(mps.folder_)) {
    const auto place = gpu::MpsFolder::at(mps.folder_);
    mps.environment_ =
        gpu::mps_client_environment(place->pipe(), place->log(), gpu_uuid, gpu::MpsClientLimits{});
    return mps;
  } else {
    auto started = gpu::MpsDaemon::start(gpu_uuid, mps.folder_);
    if (!started) {
      return tl::unexpected(started.error());
    }
    mps.daemon_ = std::move(*started);
  }
  mps.environment_ = mps.daemon_->client_environment({});
  return mps;
}

Result<void> SharedMps::leave(bool others_remain) {
  if (others_remain) {
    if (daemon_ != nullptr) {
      daemon_->leave_running();
    }
    return {};
  }
  const Stopwatch watch;
  while (daemon_ == nullptr && answers(folder_) && watch.seconds() < kEndingSeconds) {
    if (auto adopted = gpu::MpsDaemon::adopt(gpu_uuid_, folder_)) {
      daemon_ = std::move(*adopted);
    } else {
      pause_for(kLook);
    }
  }
  return daemon_ != nullptr ? daemon_->stop(kStopGrace) : Result<void>{};
}

}  // namespace carpool::app
