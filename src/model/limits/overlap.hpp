// The share of the multiprocessors of a job that others use too, under MPS thread limits.
#pragma once

#include <algorithm>

#include "core/group.hpp"

namespace carpool::model {

// A thread limit as a share of the GPU, 0 to 1.
[[nodiscard]] inline double gpu_share(const GroupMember& member) {
  return member.thread_limit / kAllThreads;
}

// MPS distributes multiprocessors evenly: limits that add up to at most 100 % get disjoint ones,
// and beyond that they stack up, every multiprocessor being used by M or M + 1 members, where M is
// the whole part of the sum P of the shares p and f its fraction. Two members then meet on
//   A = M (M - 1) / 2 + f M
// of the GPU, counted over all pairs of members. A is divided among the pairs in proportion to the
// product of their shares: k and l meet on r p_k p_l with r = A / sum over pairs of p_k p_l, so the
// fraction of i's multiprocessors that j uses too is w_ij = min(1, r p_j). For two members that is
// (p_1 + p_2 - 1) / p_1; for 100 % each it is 1. Returns r; 0 where nothing overlaps.
[[nodiscard]] double overlap_rate(const Group& group);

// w_ij for a member j with share p_j.
[[nodiscard]] inline double overlap(double rate, double share) {
  return std::min(1.0, rate * share);
}

}  // namespace carpool::model
