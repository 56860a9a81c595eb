// The heaviest perfect matching of a complete graph of a thousand vertices in a fraction of a
// second.
#pragma once

#include <cstddef>
#include <vector>

namespace carpool::assign {

// The weight of a pair. Rank decides before value: fewer pairs of rank 2, then of rank 1, are
// better (a pair of rank 2 counts as three of rank 1), then a higher sum of values.
struct PairWeight {
  double value = 0.0;  // not read unless rank is 0
  int rank = 0;        // 0 normal, 1 a last resort, 2 not allowed: taken only if unavoidable
};

class PairWeights {
 public:
  explicit PairWeights(std::size_t vertices)
      : vertices_(vertices), weights_(vertices * (vertices - 1) / 2) {}

  [[nodiscard]] std::size_t vertices() const { return vertices_; }
  // `first` < `second`.
  [[nodiscard]] PairWeight& at(std::size_t first, std::size_t second) {
    return weights_[second * (second - 1) / 2 + first];
  }
  [[nodiscard]] const PairWeight& at(std::size_t first, std::size_t second) const {
    return weights_[second * (second - 1) / 2 + first];
  }

 private:
  std::size_t vertices_;
  std::vector<PairWeight> weights_;
};

// The partner of each vertex; their number must be even. The value of each pair is exact to one
// part in a million of the range of values: equal weights, which make the search slow, are made to
// differ by that much.
[[nodiscard]] std::vector<int> dense_perfect_matching(const PairWeights& weights);

}  // namespace carpool::assign
