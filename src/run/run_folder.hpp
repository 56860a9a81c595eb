// The folder of one attempt: who may begin it, who runs it, and how it ended. What is in it decides
// after a restart, so each file is there whole or not at all.
//
//   claim   the process that began the attempt, or "abandoned": whoever creates it first has it
//   leader  the job's own first process, known before it runs a single instruction of the job
//   exit    how it ended
//   stdout, stderr
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "core/run.hpp"
#include "gpu/mps/process_identity.hpp"

namespace carpool::run {

struct RunClaim {
  bool abandoned = false;        // nobody began it and nobody will
  gpu::ProcessIdentity guard{};  // else
  std::string boot{};            // of the machine
};

// How the guard saw it end; what that means is for classify_exit() to say.
struct ExitRecord {
  std::optional<int> code{};
  std::optional<int> signal{};
  std::string not_started{};  // why the job's program never ran; empty: it did
  bool stop_asked = false;    // by us, before it ended
  bool mps_fault = false;     // the MPS server that it used had failed
  bool host_memory = false;   // the kernel killed somebody for want of memory meanwhile
  double at_s = 0.0;          // seconds since the epoch
};

class RunFolder {
 public:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  // "<runs>/17.1"
  [[nodiscard]] static RunFolder of(const std::filesystem::path& runs, RunId run);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path stdout_file() const { return path_ / "stdout"; }
  [[nodiscard]] std::filesystem::path stderr_file() const { return path_ / "stderr"; }

  // Mode 0700; fine when it is there.
  [[nodiscard]] Result<void> make() const;

  // False when somebody else was first.
  [[nodiscard]] Result<bool> claim(const RunClaim& claim) const;
  [[nodiscard]] Result<std::optional<RunClaim>> claimed() const;

  [[nodiscard]] Result<void> write_leader(const gpu::ProcessIdentity& leader) const;
  [[nodiscard]] Result<std::optional<gpu::ProcessIdentity>> leader() const;

  [[nodiscard]] Result<void> write_exit(const ExitRecord& exit) const;
  [[nodiscard]] Result<std::optional<ExitRecord>> exit() const;

 private:
  std::filesystem::path path_;
};

// The last `bytes` of a file; empty when there is none.
[[nodiscard]] std::string tail_of(const std::filesystem::path& file, std::size_t bytes);

}  // namespace carpool::run
