#include "evaluate/accuracy.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "evaluate/metrics.hpp"

namespace carpool::evaluate {
namespace {

// Collects "inside the interval?" and "how wide?" over many forecasts.
struct IntervalTally {
  std::vector<double> inside;
  std::vector<double> width;

  void add(const Interval& interval, double predicted, double measured) {
    inside.push_back(measured >= interval.low && measured <= interval.high ? 1.0 : 0.0);
    if (predicted > 0.0) {
      width.push_back((interval.high - interval.low) / predicted);
    }
  }
};

std::vector<double> measured_sums(std::span<const dataset::GroupRow> rows) {
  std::vector<double> sums;
  sums.reserve(rows.size());
  for (const dataset::GroupRow& row : rows) {
    sums.push_back(row.sum());
  }
  return sums;
}

void measure_sums(std::span<const dataset::GroupRow> rows,
                  std::span<const GroupForecast> forecasts,
                  Accuracy& accuracy) {
  const std::vector<double> measured = measured_sums(rows);
  std::vector<double> predicted;
  IntervalTally tally;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    predicted.push_back(*forecasts[i].sum);
    if (forecasts[i].sum_interval90) {
      tally.add(*forecasts[i].sum_interval90, predicted.back(), measured[i]);
    }
  }
  accuracy.mape_sum = mean_absolute_percentage_error(predicted, measured);
  accuracy.r2 = r_squared(predicted, measured);
  accuracy.spearman = spearman(predicted, measured);
  accuracy.coverage90_sum = mean(tally.inside);
  accuracy.width90_sum = mean(tally.width);
}

// The published error compares z-scored labels with predictions in z units. A model that predicts
// real units is brought to the same scale by the labels' own mean and deviation.
std::optional<double> z_error(std::span<const dataset::GroupRow> rows,
                              std::span<const GroupForecast> forecasts) {
  const std::vector<double> measured = measured_sums(rows);
  const double spread = standard_deviation(measured).value_or(0.0);
  if (spread <= 0.0) {
    return std::nullopt;
  }
  const std::vector<double> labels = z_scores(measured);
  std::vector<double> squares;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool real_units = !forecasts[i].members.empty();
    const double predicted =
        real_units ? (*forecasts[i].sum - *mean(measured)) / spread : forecasts[i].preference;
    squares.push_back((predicted - labels[i]) * (predicted - labels[i]));
  }
  return mean(squares);
}

void measure_members(std::span<const dataset::GroupRow> rows,
                     std::span<const GroupForecast> forecasts,
                     Accuracy& accuracy) {
  std::vector<double> predicted;
  std::vector<double> measured;
  IntervalTally tally;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t m = 0; m < forecasts[i].members.size(); ++m) {
      const MemberForecast& member = forecasts[i].members[m];
      predicted.push_back(member.throughput);
      measured.push_back(rows[i].throughput[m]);
      if (member.interval90) {
        tally.add(*member.interval90, member.throughput, measured.back());
      }
    }
  }
  accuracy.mape_member = mean_absolute_percentage_error(predicted, measured);
  accuracy.coverage90 = mean(tally.inside);
  accuracy.width90 = mean(tally.width);
}

}  // namespace

Accuracy measure_accuracy(std::span<const dataset::GroupRow> rows,
                          std::span<const GroupForecast> forecasts) {
  Accuracy accuracy;
  const bool has_sums = std::all_of(forecasts.begin(), forecasts.end(), [](const auto& forecast) {
    return forecast.sum.has_value();
  });
  if (rows.empty() || !has_sums) {
    return accuracy;
  }
  measure_sums(rows, forecasts, accuracy);
  accuracy.mse_z = z_error(rows, forecasts);
  measure_members(rows, forecasts, accuracy);
  return accuracy;
}

}  // namespace carpool::evaluate
