// A group: workloads that share one GPU, with their MPS thread limits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace carpool {

inline constexpr double kAllThreads = 100.0;

struct GroupMember {
  std::size_t profile = 0;            // index into the profiles that the caller works with
  double thread_limit = kAllThreads;  // CUDA_MPS_ACTIVE_THREAD_PERCENTAGE, 0 < limit <= 100
};

using Group = std::vector<GroupMember>;

// No member has a thread limit.
[[nodiscard]] inline bool unlimited(const Group& group) {
  return std::all_of(group.begin(), group.end(), [](const GroupMember& member) {
    return member.thread_limit >= kAllThreads;
  });
}

}  // namespace carpool
