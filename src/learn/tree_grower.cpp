#include "learn/tree_grower.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace carpool::learn {

namespace {

// Values closer than this count as equal (scikit-learn's FEATURE_THRESHOLD).
constexpr float kSameValue = 1e-7F;
constexpr std::size_t kWordBits = 64;

}  // namespace

TreeGrower::TreeGrower(const Eigen::MatrixXd& rows, const Eigen::VectorXd& targets)
    : row_count_(static_cast<std::size_t>(rows.rows())),
      feature_count_(static_cast<std::size_t>(rows.cols())),
      values_(row_count_ * feature_count_),
      targets_(targets.begin(), targets.end()),
      rank_(row_count_ * feature_count_),
      by_rank_(row_count_ * feature_count_),
      weights_(row_count_),
      present_((row_count_ + kWordBits - 1) / kWordBits),
      features_(feature_count_),
      constants_(feature_count_) {
  Eigen::Map<Eigen::MatrixXf>(values_.data(), rows.rows(), rows.cols()) = rows.cast<float>();
  for (std::size_t feature = 0; feature < feature_count_; ++feature) {
    const std::span order = std::span(by_rank_).subspan(feature * row_count_, row_count_);
    std::iota(order.begin(), order.end(), std::uint32_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
      return value(feature, left) < value(feature, right);
    });
    for (std::uint32_t rank = 0; rank < row_count_; ++rank) {
      rank_[feature * row_count_ + order[rank]] = rank;
    }
  }
}

const Tree& TreeGrower::grow(const TreeSettings& settings,
                             std::span<const std::uint32_t> counts,
                             std::uint32_t seed) {
  settings_ = settings;
  start(counts, seed);
  while (!pending_.empty()) {
    Pending node = pending_.back();
    pending_.pop_back();
    const std::size_t index = tree_.size();
    if (node.right_of) {
      tree_[*node.right_of].skip = static_cast<std::int32_t>(index - *node.right_of);
    }
    depth_ = std::max(depth_, node.depth);
    const Totals sums = totals(node);
    std::optional<Split> split;
    if (!is_leaf(node, sums)) {
      split = best_split(node, sums);
    }
    if (!split) {
      tree_.push_back({.value = sums.sum / sums.weight, .feature = -1, .skip = 0});
      continue;
    }
    tree_.push_back({.value = split->threshold,
                     .feature = static_cast<std::int32_t>(split->feature),
                     .skip = 0});
    const auto first = taken_.begin() + static_cast<std::ptrdiff_t>(node.begin);
    const auto last = taken_.begin() + static_cast<std::ptrdiff_t>(node.end);
    const auto middle = std::partition(first, last, [&](std::uint32_t row) {
      return static_cast<double>(value(split->feature, row)) <= split->threshold;
    });
    const auto cut = static_cast<std::size_t>(middle - taken_.begin());
    pending_.push_back({cut, node.end, node.depth + 1, node.known_constants, index});
    pending_.push_back({node.begin, cut, node.depth + 1, node.known_constants, std::nullopt});
  }
  return tree_;
}

void TreeGrower::start(std::span<const std::uint32_t> counts, std::uint32_t seed) {
  taken_.clear();
  for (std::uint32_t row = 0; row < row_count_; ++row) {
    weights_[row] = static_cast<double>(counts[row]);
    if (counts[row] > 0) {
      taken_.push_back(row);
    }
  }
  std::iota(features_.begin(), features_.end(), std::size_t{0});
  random_ = seed;
  depth_ = 0;
  tree_.clear();
  pending_.assign(1, {0, taken_.size(), 0, 0, std::nullopt});
}

TreeGrower::Totals TreeGrower::totals(const Pending& node) const {
  Totals totals;
  for (std::size_t position = node.begin; position < node.end; ++position) {
    const std::uint32_t row = taken_[position];
    const double weighted = weights_[row] * targets_[row];
    totals.weight += weights_[row];
    totals.sum += weighted;
    totals.squares += weighted * targets_[row];
  }
  return totals;
}

bool TreeGrower::is_leaf(const Pending& node, const Totals& totals) const {
  const std::size_t size = node.end - node.begin;
  if ((settings_.max_depth && node.depth >= *settings_.max_depth) ||
      size < settings_.min_samples_split || size < 2 * settings_.min_samples_leaf) {
    return true;
  }
  const double mean = totals.sum / totals.weight;
  return totals.squares / totals.weight - mean * mean <= std::numeric_limits<double>::epsilon();
}

// Draws features without replacement until max_features were considered and one of them varies.
// features_ begins with the features known to be constant, followed by those found constant here; a
// drawn feature moves behind the shrinking end of those that may still be drawn. The order of the
// moves matters: it determines what a given seed draws next.
std::optional<TreeGrower::Split> TreeGrower::best_split(Pending& node, const Totals& totals) {
  const std::size_t known = node.known_constants;
  std::size_t undrawn_end = feature_count_;
  std::size_t visited = 0;
  std::size_t found = 0;  // constants found at this node
  std::size_t drawn = 0;  // known constants drawn at this node
  std::optional<Split> best;
  while (undrawn_end > known + found &&
         (visited < settings_.max_features || visited <= found + drawn)) {
    ++visited;
    std::size_t position = draw(drawn, undrawn_end - found);
    if (position < known) {
      std::swap(features_[drawn], features_[position]);
      ++drawn;
      continue;
    }
    position += found;
    const std::size_t feature = features_[position];
    sort_rows(node, feature);
    if (value(feature, sorted_.back()) <= value(feature, sorted_.front()) + kSameValue) {
      std::swap(features_[position], features_[known + found]);
      ++found;
      continue;
    }
    --undrawn_end;
    std::swap(features_[undrawn_end], features_[position]);
    improve(best, totals, feature);
  }
  std::copy_n(constants_.begin(), known, features_.begin());
  std::copy_n(features_.begin() + static_cast<std::ptrdiff_t>(known),
              found,
              constants_.begin() + static_cast<std::ptrdiff_t>(known));
  node.known_constants = known + found;
  return best;
}

// Marks the ranks of the node's rows and reads the marks in order.
void TreeGrower::sort_rows(const Pending& node, std::size_t feature) {
  const std::uint32_t* const rank = rank_.data() + feature * row_count_;
  for (std::size_t position = node.begin; position < node.end; ++position) {
    const std::uint32_t place = rank[taken_[position]];
    present_[place / kWordBits] |= std::uint64_t{1} << (place % kWordBits);
  }
  const std::uint32_t* const by_rank = by_rank_.data() + feature * row_count_;
  sorted_.clear();
  for (std::size_t word = 0; word < present_.size(); ++word) {
    for (std::uint64_t bits = std::exchange(present_[word], 0); bits != 0; bits &= bits - 1) {
      const auto place = word * kWordBits + static_cast<std::size_t>(std::countr_zero(bits));
      sorted_.push_back(by_rank[place]);
    }
  }
}

// Least squared error means largest Σ sum² / weight over both sides.
void TreeGrower::improve(std::optional<Split>& best,
                         const Totals& totals,
                         std::size_t feature) const {
  const std::size_t size = sorted_.size();
  double left_weight = 0.0;
  double left_sum = 0.0;
  for (std::size_t cut = 1; cut < size; ++cut) {
    const std::uint32_t row = sorted_[cut - 1];
    left_weight += weights_[row];
    left_sum += weights_[row] * targets_[row];
    const float below = value(feature, row);
    const float above = value(feature, sorted_[cut]);
    if (above <= below + kSameValue || cut < settings_.min_samples_leaf ||
        size - cut < settings_.min_samples_leaf) {
      continue;
    }
    const double right_sum = totals.sum - left_sum;
    const double gain =
        left_sum * left_sum / left_weight + right_sum * right_sum / (totals.weight - left_weight);
    if (!best || gain > best->gain) {
      const double middle = static_cast<double>(below) / 2.0 + static_cast<double>(above) / 2.0;
      best = Split{.feature = feature, .threshold = middle, .gain = gain};
    }
  }
}

std::size_t TreeGrower::draw(std::size_t low, std::size_t high) {
  if (random_ == 0) {
    random_ = 1;
  }
  random_ ^= random_ << 13U;
  random_ ^= random_ >> 17U;
  random_ ^= random_ << 5U;
  return low + (random_ & 0x7FFFFFFFU) % (high - low);
}

}  // namespace carpool::learn
