// The files of a run folder as text: claim, leader and exit. Pure functions. Each carries the
// identity of the journal whose attempt it describes; files of older versions have none.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "core/run.hpp"
#include "gpu/mps/process_identity.hpp"

namespace carpool::run {

struct RunClaim {
  bool abandoned = false;             // the attempt never began, and cannot begin any more
  gpu::ProcessIdentity supervisor{};  // of an attempt that began
  std::string boot{};                 // boot_id()
  std::string journal{};
};

// How the supervisor saw the job end; classify_exit() interprets it.
struct ExitRecord {
  std::optional<int> code{};
  std::optional<int> signal{};
  std::string not_started{};              // why the program never ran; empty: it ran
  std::optional<TroubleScope> trouble{};  // it never ran because of the machine
  bool stop_asked = false;                // the server requested it
  bool mps_fault = false;                 // the MPS server of the job failed
  bool gpu_fault = false;                 // clients of its MPS server had a fatal error of the GPU
  bool host_memory = false;        // the kernel killed processes for lack of memory meanwhile
  double at_s = 0.0;               // seconds since the epoch
  std::optional<double> boot_s{};  // boot_seconds() at that time
  std::string boot{};              // boot_id()
  std::string journal{};
};

// Readers return Corrupt where Carpool did not write the text, or not all of it.
[[nodiscard]] std::string write_claim(const RunClaim& claim);
[[nodiscard]] Result<RunClaim> read_claim(std::string_view text);

[[nodiscard]] std::string write_leader(const gpu::ProcessIdentity& leader,
                                       const std::string& journal);
[[nodiscard]] Result<gpu::ProcessIdentity> read_leader(std::string_view text);

// With a digest of its content.
[[nodiscard]] std::string write_exit(const ExitRecord& exit);
[[nodiscard]] Result<ExitRecord> read_exit(std::string_view text);

}  // namespace carpool::run
