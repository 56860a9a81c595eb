// The server's side of a window file (window_format.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <sys/types.h>

#include "base/process/descriptor.hpp"
#include "base/result.hpp"
#include "core/gpu_observation.hpp"
#include "gpu/cupti/window_format.hpp"

namespace carpool::gpu {

// What the processes of a job answered to one window.
struct WindowAnswers {
  unsigned open = 0;     // processes that still count
  unsigned done = 0;     // processes that counted
  unsigned spoiled = 0;  // processes that stood still, or ended
  double per_s = 0.0;    // launches of all that are done
  double over_s = 0.0;   // the longest time in which one of them counted
  std::uint64_t launches = 0;
  std::optional<KernelWindow> kernels{};  // of all that are done, where kernels were recorded
  // The first refusal of a process that cannot count: Busy, NoCupti, Refused or Unseen.
  std::optional<window_format::State> refusal{};
  std::int32_t code = 0;  // of CUPTI
};

// Never maps the file, which belongs to the user of the job.
class WindowFile {
 public:
  // A new file of mode 0600, which belongs to this user where one is given.
  [[nodiscard]] static Result<WindowFile> create(const std::filesystem::path& path,
                                                 std::optional<uid_t> owner);
  // One that this or an earlier server created.
  [[nodiscard]] static Result<WindowFile> open(const std::filesystem::path& path);

  // Returns the number of the window. All processes of the job follow within a quarter of a second.
  [[nodiscard]] Result<std::uint32_t> order(
      std::uint32_t length_ms,
      std::int64_t start_ns,
      window_format::Kind kind = window_format::Kind::Launches);
  [[nodiscard]] Result<WindowAnswers> answers(std::uint32_t window) const;

 private:
  explicit WindowFile(Descriptor file) : file_(std::move(file)) {}

  Descriptor file_;
};

}  // namespace carpool::gpu
