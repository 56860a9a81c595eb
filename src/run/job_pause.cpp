#include "run/job_pause.hpp"

#include <unistd.h>

#include "base/clock.hpp"
#include "gpu/mps/process_identity.hpp"
#include "run/supervisor/supervisor.hpp"

namespace carpool::run {
namespace {

void wake_supervisor(const RunFolder& folder) {
  if (const auto claim = folder.claimed(); claim && *claim && !(*claim)->abandoned) {
    gpu::send_signal((*claim)->supervisor, kLookSignal);
  }
}

}  // namespace

void JobPause::hold() {
  if (!held_ || !all_stand_) {
    held_ = true;
    all_stand_ = processes_.hold();
  }
}

void JobPause::release() {
  held_ = false;
  alone_since_s_.reset();
  processes_.release();
}

void JobPause::look() {
  if (ended_) {
    return;
  }
  const Result<std::optional<gpu::ProcessIdentity>> server = folder_.pause();
  if (!server && server.error().code != ErrorCode::Corrupt) {
    return;  // what cannot be read now decides nothing
  }
  if (server && !*server) {
    release();
    return;
  }
  if (server && gpu::is_alive(**server)) {
    alone_since_s_.reset();
  } else if (!alone_since_s_) {
    alone_since_s_ = boot_seconds();
  }
  if (alone_since_s_ && boot_seconds() - *alone_since_s_ >= most_without_server_s_) {
    // The next server asks again.
    static_cast<void>(folder_.remove_pause());
    release();
    return;
  }
  hold();
}

void JobPause::end() {
  ended_ = true;
  release();
}

Result<void> request_pause(const RunFolder& folder, const std::string& journal) {
  const auto self = gpu::identify(::getpid());
  if (!self) {
    return fail(ErrorCode::Internal, "the server cannot read its entry in /proc");
  }
  if (Result<void> written = folder.write_pause(*self, journal); !written) {
    return written;
  }
  wake_supervisor(folder);
  return {};
}

Result<void> withdraw_pause(const RunFolder& folder) {
  Result<void> removed = folder.remove_pause();
  wake_supervisor(folder);
  return removed;
}

}  // namespace carpool::run
