// Forecasts of `share` for candidate groups.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/limits/limit_factor.hpp"
#include "model/share/workload_view.hpp"
#include "model/throughput_model.hpp"

namespace carpool {

// Widths of intervals, beyond what the posterior says.
struct IntervalSettings {
  double noise = 0.0;              // scale of a co-run, log units
  double noise_alone = 0.0;        // scale of a run alone, log units
  double inflation = 1.0;          // from training rows left out in turn
  std::vector<std::size_t> sizes;  // group sizes that were trained on
};

class ShareForecaster final : public Forecaster {
 public:
  // `limits`, one a profile.
  ShareForecaster(ProfileViews views,
                  std::span<const LimitParameters> limits,
                  IntervalSettings intervals);

  [[nodiscard]] std::vector<GroupForecast> forecast(std::span<const Group> candidates,
                                                    ForecastDetail detail) const override;

  // The predicted sums; without the memory that a forecast takes for its members.
  [[nodiscard]] std::vector<double> preferences(std::span<const Group> candidates) const override;

 private:
  // What a point forecast needs of one workload, with the exponentials taken.
  struct Speed {
    double capacity = 0.0;    // exp c
    double weight = 0.0;      // exp b
    double resistance = 0.0;  // exp(-b - d)
    double alone = 0.0;       // units/s with the GPU for itself
  };

  [[nodiscard]] double weight_of(const Group& group) const;
  [[nodiscard]] double unlimited_speed(std::size_t profile, double group_weight, bool alone) const;
  [[nodiscard]] GroupForecast point(const Group& group) const;
  void add_intervals(const Group& group, GroupForecast& forecast) const;
  [[nodiscard]] Eigen::MatrixXd log_covariance(const Group& group) const;
  [[nodiscard]] double size_gap(std::size_t size) const;

  ProfileViews views_;
  std::vector<Speed> speeds_;
  std::vector<LimitTraits> traits_;
  IntervalSettings intervals_;
};

}  // namespace carpool
