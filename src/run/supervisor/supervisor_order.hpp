// The order that a supervisor receives, in memory: a job's environment is never written to a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/run.hpp"
#include "run/start_trouble.hpp"

namespace carpool::run {

// An MPS daemon for one GPU and one user, shared by the supervisors of that user's jobs there.
struct MpsPlace {
  std::string gpu_uuid{};
  std::filesystem::path folder{};  // of the daemon
  std::filesystem::path users{};   // locked by each supervisor that needs the daemon; in a folder
                                   // that only the user of the server can enter
};

struct SupervisorOrder {
  std::filesystem::path folder{};  // of the attempt
  std::string run{};               // "17.1"
  std::string journal{};           // identity of the journal that the attempt belongs to
  std::vector<std::string> argv{};
  std::string cwd{};
  std::map<std::string, std::string> env{};   // the complete environment
  std::optional<std::uint32_t> become_uid{};  // set by a root server: the user of the job
  std::uint32_t gid = 0;
  std::string user{};
  std::string home{};
  std::optional<MpsPlace> mps{};
  std::filesystem::path cgroup{};  // of the attempt; empty: none
  std::string output{};            // the job's own file for standard output; empty: none
  std::string error{};             // and for standard error; empty: as `output`
  unsigned umask = 022;
  std::uint64_t output_limit_bytes = 0;  // of each output; 0: none
  std::map<std::string, ResourceLimit> limits{};
};

[[nodiscard]] std::string write_order(const SupervisorOrder& order);
[[nodiscard]] Result<SupervisorOrder> read_order(std::string_view text);

// Set in every process of an attempt to its folder: run numbers of different servers may be equal.
inline constexpr std::string_view kRunVariable = "CARPOOL_RUN_FOLDER";

// The order for this launch: environment of user and job, GPUs by UUID, MPS limits. Reads only the
// password table. `mps` is set when the mechanism is Mps.
[[nodiscard]] Started<SupervisorOrder> make_order(const LaunchSpec& spec,
                                                  const std::filesystem::path& folder,
                                                  const std::optional<MpsPlace>& mps);

// Changes this process to the user of the job for good, where the order names one.
[[nodiscard]] Result<void> become_job_user(const SupervisorOrder& order);

}  // namespace carpool::run
