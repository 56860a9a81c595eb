#include "evaluate/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace carpool::evaluate {
namespace {

double sum_of_squares_around(std::span<const double> values, double centre) {
  double total = 0.0;
  for (const double value : values) {
    total += (value - centre) * (value - centre);
  }
  return total;
}

std::vector<double> average_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return values[a] < values[b];
  });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) {
      ++end;
    }
    const double rank = static_cast<double>(begin + end - 1) / 2.0;
    for (std::size_t i = begin; i < end; ++i) {
      ranks[order[i]] = rank;
    }
    begin = end;
  }
  return ranks;
}

}  // namespace

std::optional<double> mean(std::span<const double> values) {
  if (values.empty()) {
    return std::nullopt;
  }
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> standard_deviation(std::span<const double> values) {
  if (values.size() < 2) {
    return std::nullopt;
  }
  return std::sqrt(sum_of_squares_around(values, *mean(values)) /
                   static_cast<double>(values.size() - 1));
}

std::optional<double> mean_absolute_percentage_error(std::span<const double> predicted,
                                                     std::span<const double> measured) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (measured[i] > 0.0) {
      errors.push_back(std::abs(predicted[i] - measured[i]) / measured[i]);
    }
  }
  return mean(errors);
}

std::optional<double> r_squared(std::span<const double> predicted,
                                std::span<const double> measured) {
  if (measured.empty()) {
    return std::nullopt;
  }
  const double total = sum_of_squares_around(measured, *mean(measured));
  if (total <= 0.0) {
    return std::nullopt;
  }
  double residual = 0.0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    residual += (predicted[i] - measured[i]) * (predicted[i] - measured[i]);
  }
  return 1.0 - residual / total;
}

std::optional<double> spearman(std::span<const double> left, std::span<const double> right) {
  const std::vector<double> a = z_scores(average_ranks(left));
  const std::vector<double> b = z_scores(average_ranks(right));
  const double scale = std::sqrt(sum_of_squares_around(a, 0.0) * sum_of_squares_around(b, 0.0));
  if (scale <= 0.0) {
    return std::nullopt;
  }
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0) / scale;
}

std::vector<double> z_scores(std::span<const double> values) {
  std::vector<double> scores(values.size(), 0.0);
  const double spread = standard_deviation(values).value_or(0.0);
  if (spread <= 0.0) {
    return scores;
  }
  const double centre = *mean(values);
  std::transform(values.begin(), values.end(), scores.begin(), [&](double value) {
    return (value - centre) / spread;
  });
  return scores;
}

}  // namespace carpool::evaluate
