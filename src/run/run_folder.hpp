// The folder of one attempt: which process may begin it, which runs it, and how it ended. After a
// restart the files decide, so each is written as a whole or not at all.
//
//   claim   the supervisor of the attempt, or "abandoned"; the first process that creates it wins
//   leader  the first process of the job, recorded before it executes an instruction of the job
//   exit    how it ended; exit.copy is the same, for the case that one of them is damaged
//   pause   the server that wants the job to stand still; no such file: it runs
//   cgroup  of its processes, see job_cgroup.hpp; reaper: see orphan_reaper.hpp
//   stdout, stderr
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "core/run.hpp"
#include "gpu/mps/process_identity.hpp"
#include "run/run_records.hpp"

namespace carpool::run {

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

  // Whether what is here is of an attempt of this journal. False where no process has claimed it.
  [[nodiscard]] bool belongs_to(std::string_view journal) const;

  [[nodiscard]] Result<void> write_leader(const gpu::ProcessIdentity& leader,
                                          const std::string& journal) const;
  [[nodiscard]] Result<std::optional<gpu::ProcessIdentity>> leader() const;

  // The server asks for a pause by the file and says so with a signal, see JobPause.
  [[nodiscard]] Result<void> write_pause(const gpu::ProcessIdentity& server,
                                         const std::string& journal) const;
  // Empty: the job is to run. Corrupt: it is to stand still, and the server is not known.
  [[nodiscard]] Result<std::optional<gpu::ProcessIdentity>> pause() const;
  [[nodiscard]] Result<void> remove_pause() const;

  [[nodiscard]] Result<void> write_exit(const ExitRecord& exit) const;
  // Corrupt: the attempt has ended, and each copy of the record is damaged or of another journal.
  // Any other error says nothing about the attempt.
  [[nodiscard]] Result<std::optional<ExitRecord>> exit(std::string_view journal) const;

 private:
  std::filesystem::path path_;
};

// Whether a claim is of an attempt of this journal. Claims of older versions name no journal.
[[nodiscard]] bool is_of(const RunClaim& claim, std::string_view journal);

// The last `bytes` of a file; empty when there is no such regular file.
[[nodiscard]] std::string tail_of(const std::filesystem::path& file, std::size_t bytes);

}  // namespace carpool::run
