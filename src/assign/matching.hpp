// Matchings in general graphs, by LEMON. Plain types only: the headers of LEMON are not C++20, so
// the .cpp is compiled as C++17.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace carpool::assign {

struct MatchingEdge {
  int first = 0;
  int second = 0;
  std::int64_t weight = 0;
};

// A perfect matching and the proof that none weighs more: for every edge (i, j)
//   vertex_dual[i] + vertex_dual[j] + (duals of the blossoms that hold both) >= dual_scale * weight
struct PerfectMatching {
  struct Blossom {
    std::int64_t dual = 0;  // not negative
    std::vector<int> vertices;
  };
  std::vector<int> partner;
  std::vector<std::int64_t> vertex_dual;
  std::vector<Blossom> blossoms;
  std::int64_t dual_scale = 1;
};

// Empty: the graph has no perfect matching.
[[nodiscard]] std::optional<PerfectMatching> max_weight_perfect_matching(
    int vertices, const std::vector<MatchingEdge>& edges);

// The most pairs that a matching can have.
[[nodiscard]] int max_matching_size(int vertices, const std::vector<std::pair<int, int>>& edges);

}  // namespace carpool::assign
