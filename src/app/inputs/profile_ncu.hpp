// Kernel metrics of Nsight Compute as part of a profile.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/result.hpp"
#include "profile/profiler.hpp"

namespace carpool::app {

// Runs the program of a finished profile again under Nsight Compute, for at most `most_seconds`.
// The measured metrics replace their substitutes.
[[nodiscard]] Result<void> add_ncu_run(const profile::ProfileRequest& request,
                                       double most_seconds,
                                       const profile::ProfileEvents& events,
                                       profile::ProfileResult& result);

struct NcuImport {
  profile::WorkloadProfile profile;
  std::size_t launches = 0;
};

// The profile in `profile_file`, or a new one if there is no such file, with the metrics of an
// export of Nsight Compute. Writes no file.
[[nodiscard]] Result<NcuImport> import_ncu(const std::string& export_file,
                                           const std::string& name,
                                           const std::filesystem::path& profile_file);

}  // namespace carpool::app
