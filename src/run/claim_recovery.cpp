#include "run/claim_recovery.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/process/process_table.hpp"
#include "gpu/mps/process_identity.hpp"

namespace carpool::run {

Result<RunClaim> recovered_claim(const RunFolder& folder,
                                 const std::string& journal,
                                 const std::string& boot) {
  log_warning(fmt::format("the claim of {} was damaged or removed", folder.path().string()));
  RunClaim claim{.boot = boot, .journal = journal};
  const auto leader = folder.leader();
  if (!leader && leader.error().code != ErrorCode::Corrupt) {
    return tl::unexpected(leader.error());
  }
  if (!leader || !*leader || !gpu::is_alive(**leader)) {
    return claim;
  }
  const std::vector<ProcessEntry> processes = list_processes();
  const auto found = std::ranges::find(processes, (*leader)->pid, &ProcessEntry::pid);
  const auto supervisor = found == processes.end() ? std::nullopt : gpu::identify(found->parent);
  if (!supervisor) {
    return fail(ErrorCode::Internal,
                fmt::format("the supervisor of {} cannot be found now", folder.path().string()));
  }
  claim.supervisor = *supervisor;
  return claim;
}

}  // namespace carpool::run
