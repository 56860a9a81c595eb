// Reads the output of a job, also while the job writes it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "serve/job_api.hpp"

namespace carpool::serve {

inline constexpr std::uint64_t kUsualLogBytes = std::uint64_t{1} << 20U;

struct LogRequest {
  LogStream stream = LogStream::Out;
  unsigned attempt = 0;  // 0: the latest
  std::uint64_t offset = 0;
  std::uint64_t most = kUsualLogBytes;
  std::optional<std::uint64_t> tail{};  // the last lines, instead of an offset
  double wait_s = 0.0;  // how long to wait for output when there is none at the offset
};

struct LogPorts {
  std::function<std::filesystem::path(RunId, LogStream)> log_file{};  // empty: nothing is kept
  std::function<Result<LogState>()> state{};
  std::function<FairShare::Held(std::size_t)> hold{};           // memory for the answer
  std::function<bool(std::chrono::milliseconds span)> pause{};  // false: the server stops
};

// Whether the beginning of an output was dropped because it passed its limit.
[[nodiscard]] bool is_cut(const std::filesystem::path& file);

// Raw bytes, with the headers X-Carpool-Attempt, X-Carpool-Offset (the next offset) and
// X-Carpool-Over (1: the output is complete).
[[nodiscard]] ApiAnswer read_log(JobId job, const LogRequest& wanted, const LogPorts& ports);

}  // namespace carpool::serve
