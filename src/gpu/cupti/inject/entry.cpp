// The two functions that libcarpool_profile.so exports: the driver calls the first in cuInit
// (CUDA_INJECTION64_PATH), NVTX the second at its first use (NVTX_INJECTION64_PATH).
#include "gpu/cupti/inject/nvtx_ranges.hpp"
#include "gpu/cupti/inject/recorder.hpp"
#include "gpu/cupti/inject/settings.hpp"
#include "gpu/cupti/inject/window/window_follower.hpp"

// NOLINTBEGIN(readability-identifier-naming): the vendor looks for these names
extern "C" [[gnu::visibility("default")]] int InitializeInjection() {
  try {
    namespace inject = carpool::gpu::inject;
    // A program that is profiled inside of a job is not counted as well.
    if (const auto watched = inject::watched_from_environment(); watched.has_value()) {
      inject::WindowFollower::instance().start(*watched);
    } else {
      inject::Recorder::instance().start();
      inject::Recorder::end_at_exit();
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): the program goes on without us
  }
  return 1;
}

extern "C" [[gnu::visibility("default")]] int InitializeInjectionNvtx2(
    carpool::gpu::nvtx::GetExportTable get_table) {
  try {
    return carpool::gpu::inject::install_nvtx(get_table) ? 1 : 0;
  } catch (...) {
    return 0;
  }
}
// NOLINTEND(readability-identifier-naming)
