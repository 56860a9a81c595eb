// What a guard is told to do, handed over in memory: a job's environment is never in a file.
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

namespace carpool::run {

// An MPS daemon for one GPU and one user, shared by the guards of that user's jobs there.
struct MpsPlace {
  std::string gpu_uuid{};
  std::filesystem::path folder{};  // of the daemon
  std::filesystem::path users{};   // locked by every guard that needs the daemon
};

struct GuardOrder {
  std::filesystem::path folder{};  // of the attempt
  std::string run{};               // "17.1"
  std::vector<std::string> argv{};
  std::string cwd{};
  std::map<std::string, std::string> env{};   // all of it
  std::optional<std::uint32_t> become_uid{};  // a root guard's job runs as this user
  std::uint32_t gid = 0;
  std::string user{};
  std::optional<MpsPlace> mps{};
};

[[nodiscard]] std::string write_order(const GuardOrder& order);
[[nodiscard]] Result<GuardOrder> read_order(std::string_view text);

// Marks every process of an attempt, by its folder: another server's runs have the same numbers.
inline constexpr std::string_view kRunVariable = "CARPOOL_RUN_FOLDER";

// The order for this launch: environment of its own user and job, GPUs by UUID, MPS limits. Pure
// but for the user's entry in the password table. `mps` is given when the mechanism is Mps.
[[nodiscard]] Result<GuardOrder> make_order(const LaunchSpec& spec,
                                            const std::filesystem::path& folder,
                                            const std::optional<MpsPlace>& mps);

}  // namespace carpool::run
