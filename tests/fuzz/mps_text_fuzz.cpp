// Any bytes as text of the MPS control program, as files of its folder, or as a line of
// /proc/PID/stat: a value within its bounds, or none.
#include <algorithm>
#include <string_view>

#include "gpu/mps/mps_folder.hpp"
#include "gpu/mps/mps_parse.hpp"
#include "gpu/mps/process_identity.hpp"
#include "targets.hpp"

namespace carpool::fuzz {

void feed_mps_text(std::string_view bytes) {
  const std::size_t middle = std::min(bytes.find('\0'), bytes.size());
  (void)gpu::parse_mps_abilities(bytes.substr(0, middle), bytes.substr(middle));
  (void)gpu::parse_mps_fault(bytes);
  if (const auto ended = gpu::parse_mps_termination(bytes); !ended) {
    require(!ended.error().message.empty());
  }
  // kill() takes 0, 1 and negative numbers for groups of processes.
  if (const auto pids = gpu::parse_mps_pids(bytes)) {
    require(std::ranges::all_of(*pids, [](pid_t pid) { return pid > 1; }));
  } else {
    require(!pids.error().message.empty());
  }
  const auto errors = gpu::parse_mps_fatal_errors(bytes);
  require(std::ranges::all_of(errors.clients, [](pid_t client) { return client > 1; }));
  const auto pid = gpu::parse_mps_pid_file(bytes);
  require(!pid || *pid > 1);
  const auto owner = gpu::parse_owner(bytes);
  require(!owner || owner->pid > 0);
  const auto stat = gpu::parse_process_stat(bytes);
  require(!stat || stat->name.size() <= bytes.size());
}

}  // namespace carpool::fuzz
