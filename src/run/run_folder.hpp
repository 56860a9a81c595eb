// The folder of one attempt: which process may begin it, which runs it, and how it ended. After a
// restart the files decide, so each is written as a whole or not at all.
//
//   claim   the supervisor of the attempt, or "abandoned"; the first process that creates it wins
//   leader  the first process of the job, recorded before it executes an instruction of the job
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
  bool abandoned = false;             // the attempt never began, and cannot begin any more
  gpu::ProcessIdentity supervisor{};  // of an attempt that began
  std::string boot{};                 // boot_id()
};

// How the supervisor saw the job end; classify_exit() interprets it.
struct ExitRecord {
  std::optional<int> code{};
  std::optional<int> signal{};
  std::string not_started{};  // why the program never ran; empty: it ran
  bool stop_asked = false;    // the server requested it
  bool mps_fault = false;     // the MPS server of the job reports a fault
  bool host_memory = false;   // the kernel killed processes for lack of memory meanwhile
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

  // Mode 0700. An existing folder is not an error.
  [[nodiscard]] Result<void> make() const;

  // False: another process claimed it first.
  [[nodiscard]] Result<bool> claim(const RunClaim& claim) const;
  [[nodiscard]] Result<std::optional<RunClaim>> claimed() const;

  [[nodiscard]] Result<void> write_leader(const gpu::ProcessIdentity& leader) const;
  [[nodiscard]] Result<std::optional<gpu::ProcessIdentity>> leader() const;

  [[nodiscard]] Result<void> write_exit(const ExitRecord& exit) const;
  [[nodiscard]] Result<std::optional<ExitRecord>> exit() const;

 private:
  std::filesystem::path path_;
};

// The last `bytes` of a file; empty when there is no such file.
[[nodiscard]] std::string tail_of(const std::filesystem::path& file, std::size_t bytes);

}  // namespace carpool::run
