// Forecasts of `share` for candidate groups.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/limits/limit_factor.hpp"
#include "model/share/workload_view.hpp"
#include "model/throughput_model.hpp"

namespace carpool::model {

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
  // Of one member of a group whose weights add up to `group_weight`.
  [[nodiscard]] double unlimited_speed(const Group& group,
                                       std::size_t member,
                                       double group_weight) const;
  // Factor on its speed for the company that it keeps.
  [[nodiscard]] double company_factor(const Group& group,
                                      std::size_t member,
                                      double group_weight) const;
  [[nodiscard]] GroupForecast point(const Group& group) const;
  void add_intervals(const Group& group, GroupForecast& forecast) const;
  [[nodiscard]] Eigen::MatrixXd log_covariance(const Group& group) const;
  [[nodiscard]] double size_gap(std::size_t size) const;

  ProfileViews views_;
  std::vector<Speed> speeds_;
  Eigen::MatrixXd pair_factors_;  // exp of the company of two: pairs are asked for most
  std::vector<LimitTraits> traits_;
  IntervalSettings intervals_;
};

}  // namespace carpool::model
