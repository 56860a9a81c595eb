// Reads the output of a job, also while the job writes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "serve/job_api.hpp"

namespace carpool::serve {

inline constexpr std::uint64_t kUsualLogBytes = std::uint64_t{1} << 20U;

struct LogRequest {
  LogStream stream = LogStream::Out;
  unsigned attempt = 0;  // 0: the latest
  std::uint64_t offset = 0;
  std::uint64_t most = kUsualLogBytes;
  double wait_s = 0.0;  // how long to wait for output when there is none at the offset
};

// The state of the job in the scheduler.
struct LogState {
  unsigned attempts = 0;
  bool over = false;
};

// Raw bytes, with the headers X-Carpool-Attempt, X-Carpool-Offset (the next offset) and
// X-Carpool-Over (1: the output is complete).
[[nodiscard]] ApiAnswer read_log(
    JobId job,
    const LogRequest& wanted,
    const std::function<std::filesystem::path(RunId, LogStream)>& log_file,
    const std::function<Result<LogState>()>& state);

}  // namespace carpool::serve
