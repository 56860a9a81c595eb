#include "store/journal_kind.hpp"

#include <system_error>

#include <fmt/format.h>

#include "store/private_files.hpp"
#include "store/state_files.hpp"

namespace carpool::store {
namespace {

bool holds_jobs(const std::filesystem::path& state) {
  std::error_code unknown;
  return std::filesystem::exists(journal_file(state), unknown) ||
         std::filesystem::exists(marker_file(state), unknown) || highest_run(state) > 0;
}

}  // namespace

Result<void> claim_folder(const std::filesystem::path& state, bool simulated) {
  std::error_code unknown;
  const bool marked = std::filesystem::exists(simulated_file(state), unknown);
  if (marked == simulated) {
    return {};
  }
  if (marked) {
    return conflict(fmt::format(
        "{} is the folder of a server that simulates its GPUs, and its jobs are not meant to run; "
        "name another folder with --state",
        state.string()));
  }
  if (holds_jobs(state)) {
    return conflict(fmt::format(
        "{} holds the jobs of a server that runs them, or was written by an earlier version, and a "
        "simulation would end its jobs without running them; name another folder with --state",
        state.string()));
  }
  return open_private(simulated_file(state)).map([&](const Descriptor&) { sync_folder(state); });
}

}  // namespace carpool::store
