#include "request_sight.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <unistd.h>

#include "interpose/gate/shared_view.hpp"
#include "interpose/library/clock.hpp"

namespace carpool::shim_test {

using interpose::SharedState;

RequestSight::RequestSight() {
  const char* const folder = std::getenv("CARPOOL_STATE_DIR");
  std::error_code problem;
  for (const auto& file : std::filesystem::directory_iterator(folder, problem)) {
    const int descriptor = ::open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
    void* const memory = ::mmap(nullptr, sizeof(SharedState), PROT_READ, MAP_SHARED, descriptor, 0);
    ::close(descriptor);
    if (memory == MAP_FAILED) {
      continue;
    }
    state_ = static_cast<const SharedState*>(memory);
    for (const interpose::ClientSlot& slot : state_->clients) {
      if (slot.joined.load() == 1 && slot.pid.load() == static_cast<std::uint64_t>(::getpid())) {
        words_ = &slot.gate;
        return;
      }
    }
  }
}

RequestSight::~RequestSight() {
  if (state_ != nullptr) {
    ::munmap(const_cast<SharedState*>(state_), sizeof(SharedState));  // NOLINT
  }
}

bool RequestSight::request_is_active() const {
  const auto now = static_cast<interpose::gate::Nanoseconds>(interpose::exact_now_ns());
  return words_ != nullptr &&
         interpose::gate::sign_of(*words_, now).phase != interpose::gate::RequestPhase::Idle;
}

std::uint64_t RequestSight::busy() const {
  return words_ == nullptr ? 0 : words_->busy.load() % interpose::kLaunchedAhead;
}

std::uint64_t RequestSight::waiting() const {
  return words_ == nullptr ? 0 : words_->waiting.load();
}

}  // namespace carpool::shim_test
