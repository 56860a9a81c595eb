#include "assign/dense_matching.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <utility>

#include "assign/matching.hpp"

namespace carpool::assign {
namespace {

// Weights are whole numbers held in doubles (exact below 2^53). The range of values is mapped to
// 2^36 and each weight raised by less than 2^16, a millionth of it, to break ties.
constexpr double kRange = 68'719'476'736.0;
constexpr std::uint32_t kNoise = 65'536;
// The auction ends with prices this close to the best: a third of the noise.
constexpr double kFinalStep = 20'000.0;
constexpr double kStepRatio = 5.0;
// Edges per vertex in the first sparse problem.
constexpr std::size_t kNeighbours = 16;

// A symmetric matrix of weights, row by row.
class Matrix {
 public:
  explicit Matrix(const PairWeights& weights) : size_(weights.vertices()), cells_(size_ * size_) {
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (std::size_t j = 0; j < size_; ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        if (weights.at(i, j).rank == 0) {
          low = std::min(low, weights.at(i, j).value);
          high = std::max(high, weights.at(i, j).value);
        }
      }
    }
    const double scale = high > low ? kRange / (high - low) : 0.0;
    const double penalty = static_cast<double>(size_) * kRange;
    std::mt19937 noise;  // NOLINT(bugprone-random-generator-seed): the sequence is fixed on purpose
    for (std::size_t j = 0; j < size_; ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        const PairWeight& pair = weights.at(i, j);
        const double ranked = pair.rank == 0   ? std::floor((pair.value - low) * scale)
                              : pair.rank == 1 ? -penalty
                                               : -3.0 * penalty;
        cell(i, j) = cell(j, i) = ranked + static_cast<double>(noise() % kNoise);
        lowest_ = std::min(lowest_, ranked);
      }
      cell(j, j) = -4.0 * penalty;  // never worth it
    }
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] double lowest() const { return lowest_; }
  [[nodiscard]] std::span<const double> row(std::size_t i) const {
    return std::span(cells_).subspan(i * size_, size_);
  }

 private:
  double& cell(std::size_t i, std::size_t j) { return cells_[i * size_ + j]; }

  std::size_t size_;
  std::vector<double> cells_;
  double lowest_ = 0.0;
};

// Bertsekas' auction for the assignment of rows to columns (D. Bertsekas, 1988): each free row bids
// for its favourite column the difference of its gain to the next best, plus a step; steps shrink
// from coarse to fine. Returns half the price of a vertex as column plus its gain as row: p with
// p_i + p_j >= w_ij, and sum p near the best that fractional matchings reach. LEMON needs 18 s for
// 1,000 vertices with weights like ours, 0.1 s once p is subtracted; the auction takes 0.05 s.
class Auction {
 public:
  explicit Auction(const Matrix& weights) : weights_(weights), price_(weights.size(), 0.0) {}

  [[nodiscard]] std::vector<double> potentials() {
    const double start = (kRange - weights_.lowest()) / 4.0;
    for (double step = start; step > kFinalStep; step /= kStepRatio) {
      run(step);
    }
    run(kFinalStep);
    std::vector<double> potentials(price_.size());
    for (std::size_t i = 0; i < price_.size(); ++i) {
      potentials[i] = std::round((price_[i] + favourite(i).gain) / 2.0);
    }
    return potentials;
  }

 private:
  struct Favourite {
    std::size_t column = 0;
    double gain = -std::numeric_limits<double>::infinity();
    double next_gain = -std::numeric_limits<double>::infinity();
  };

  [[nodiscard]] Favourite favourite(std::size_t row) const {
    const std::span<const double> weights = weights_.row(row);
    Favourite best;
    for (std::size_t column = 0; column < weights.size(); ++column) {
      const double gain = weights[column] - price_[column];
      if (gain > best.gain) {
        best = {column, gain, best.gain};
      } else if (gain > best.next_gain) {
        best.next_gain = gain;
      }
    }
    return best;
  }

  void run(double step) {
    constexpr std::size_t kNoOwner = std::numeric_limits<std::size_t>::max();
    std::vector<std::size_t> owner(price_.size(), kNoOwner);
    std::vector<std::size_t> bidders(price_.size());
    std::iota(bidders.rbegin(), bidders.rend(), std::size_t{0});
    while (!bidders.empty()) {
      const std::size_t row = bidders.back();
      bidders.pop_back();
      const Favourite best = favourite(row);
      price_[best.column] += best.gain - best.next_gain + step;
      if (owner[best.column] != kNoOwner) {
        bidders.push_back(owner[best.column]);
      }
      owner[best.column] = row;
    }
  }

  const Matrix& weights_;
  std::vector<double> price_;
};

// Sums of the duals of all blossoms that hold two vertices. Blossoms lie inside each other or
// apart, so those of a vertex form a chain from the outermost in, and two vertices share its
// beginning.
class BlossomDuals {
 public:
  BlossomDuals(const PerfectMatching& matching, std::size_t vertices) : chain_(vertices) {
    std::vector<const PerfectMatching::Blossom*> outermost_first(matching.blossoms.size());
    std::ranges::transform(
        matching.blossoms, outermost_first.begin(), [](const auto& blossom) { return &blossom; });
    std::ranges::sort(outermost_first, std::greater<>(), [](const auto* blossom) {
      return blossom->vertices.size();
    });
    for (std::size_t index = 0; index < outermost_first.size(); ++index) {
      const PerfectMatching::Blossom& blossom = *outermost_first[index];
      const Chain& around = chain_[static_cast<std::size_t>(blossom.vertices.front())];
      const Link link{index, blossom.dual + (around.empty() ? 0 : around.back().total)};
      for (const int vertex : blossom.vertices) {
        chain_[static_cast<std::size_t>(vertex)].push_back(link);
      }
    }
  }

  [[nodiscard]] std::int64_t shared(std::size_t i, std::size_t j) const {
    const auto [left, right] =
        std::ranges::mismatch(chain_[i], chain_[j], {}, &Link::blossom, &Link::blossom);
    return left == chain_[i].begin() ? 0 : (left - 1)->total;
  }

 private:
  struct Link {
    std::size_t blossom = 0;
    std::int64_t total = 0;  // of this and all around it
  };
  using Chain = std::vector<Link>;

  std::vector<Chain> chain_;
};

// The complete graph with few of its edges: edges that a heaviest matching may hold are added until
// the duals of the sparse problem prove that no other edge helps (Cook and Rohe, 1999).
class SparseProblem {
 public:
  SparseProblem(const Matrix& weights, std::vector<double> potentials)
      : weights_(weights),
        potentials_(std::move(potentials)),
        held_(weights.size() * weights.size(), 0) {
    std::vector<std::size_t> order(weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      std::iota(order.begin(), order.end(), std::size_t{0});
      order.erase(order.begin() + static_cast<std::ptrdiff_t>(i));
      const std::size_t count = std::min(kNeighbours, order.size());
      std::ranges::nth_element(order,
                               order.begin() + static_cast<std::ptrdiff_t>(count - 1),
                               std::greater<>(),
                               [&](std::size_t j) { return reduced(i, j); });
      for (const std::size_t j : std::span(order).first(count)) {
        add(std::min(i, j), std::max(i, j));
      }
      order.resize(weights.size());
    }
    for (std::size_t i = 0; i + 1 < weights.size(); i += 2) {
      add(i, i + 1);  // so that there is a perfect matching
    }
  }

  [[nodiscard]] std::vector<int> solve() {
    const auto vertices = static_cast<int>(weights_.size());
    // A perfect matching exists: the constructor has added one.
    while (auto matching = max_weight_perfect_matching(vertices, edges_)) {
      if (!add_missing(*matching)) {
        return std::move(matching->partner);
      }
    }
    return {};
  }

 private:
  // Perfect matchings keep their order when w_ij becomes w_ij - p_i - p_j.
  [[nodiscard]] double reduced(std::size_t i, std::size_t j) const {
    return weights_.row(i)[j] - potentials_[i] - potentials_[j];
  }

  bool add(std::size_t i, std::size_t j) {
    char& held = held_[i * weights_.size() + j];
    if (held != 0) {
      return false;
    }
    held = 1;
    edges_.push_back(
        {static_cast<int>(i), static_cast<int>(j), static_cast<std::int64_t>(reduced(i, j))});
    return true;
  }

  // Adds the edges that the duals do not cover.
  [[nodiscard]] bool add_missing(const PerfectMatching& matching) {
    const BlossomDuals blossoms(matching, weights_.size());
    bool added = false;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      for (std::size_t j = i + 1; j < weights_.size(); ++j) {
        const std::int64_t missing =
            matching.dual_scale * static_cast<std::int64_t>(reduced(i, j)) -
            matching.vertex_dual[i] - matching.vertex_dual[j];
        if (missing > 0 && missing > blossoms.shared(i, j)) {
          added = add(i, j) || added;
        }
      }
    }
    return added;
  }

  const Matrix& weights_;
  std::vector<double> potentials_;
  std::vector<char> held_;
  std::vector<MatchingEdge> edges_;
};

}  // namespace

std::vector<int> dense_perfect_matching(const PairWeights& weights) {
  if (weights.vertices() == 0) {
    return {};
  }
  const Matrix matrix(weights);
  return SparseProblem(matrix, Auction(matrix).potentials()).solve();
}

}  // namespace carpool::assign
