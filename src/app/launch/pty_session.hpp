// The terminal's end of `carpool run --pty`.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "app/launch/watched_job.hpp"
#include "base/process/descriptor.hpp"
#include "base/result.hpp"

namespace carpool::app {

// A socket that only processes of this user can open; removed at the end.
class PtyListener {
 public:
  [[nodiscard]] static Result<PtyListener> open();
  PtyListener(PtyListener&& other) noexcept = default;
  PtyListener& operator=(PtyListener&&) = delete;
  ~PtyListener();

  // The command that runs `program` in a pseudo-terminal behind this socket.
  [[nodiscard]] Result<std::vector<std::string>> command_for(
      const std::vector<std::string>& program) const;
  // The relay of the job; not valid if none has connected yet. Waits for it at most that long.
  [[nodiscard]] Descriptor accept(std::chrono::milliseconds span) const;

 private:
  PtyListener(std::filesystem::path path, Descriptor socket)
      : path_(std::move(path)), socket_(std::move(socket)) {}

  std::filesystem::path path_;
  Descriptor socket_;
};

// Connects the terminal to the job until the job has ended.
[[nodiscard]] Result<void> serve_terminal(WatchedJob& job, const PtyListener& listener);

}  // namespace carpool::app
