// Forecasts of `share` for candidate groups.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/limits/limit_factor.hpp"
#include "model/share/workload_view.hpp"
#include "model/throughput_model.hpp"

namespace carpool::model {

// Widths of intervals in addition to the posterior.
struct IntervalSettings {
  double noise = 0.0;              // scale of a group run, log units
  double noise_solo = 0.0;         // scale of a solo run, log units
  double inflation = 1.0;          // from leave-one-out
  std::vector<std::size_t> sizes;  // group sizes that were trained on
};

class ShareForecaster final : public Forecaster {
 public:
  // One entry of `limits` per profile.
  ShareForecaster(ProfileViews views,
                  std::span<const LimitParameters> limits,
                  IntervalSettings intervals);

  [[nodiscard]] std::vector<GroupForecast> forecast(std::span<const Group> candidates,
                                                    ForecastDetail detail) const override;

  // The predicted sums, without allocating forecasts of members.
  [[nodiscard]] std::vector<double> preferences(std::span<const Group> candidates) const override;

 private:
  // The parameters of one workload that a point forecast uses, with the exponentials taken.
  struct Speed {
    double capacity = 0.0;    // exp c
    double weight = 0.0;      // exp b
    double resistance = 0.0;  // exp(-b - d)
    double solo = 0.0;        // solo speed, units/s
  };

  [[nodiscard]] double weight_of(const Group& group) const;
  // Of one member of a group whose weights add up to `group_weight`.
  [[nodiscard]] double unlimited_speed(const Group& group,
                                       std::size_t member,
                                       double group_weight) const;
  // Factor on its speed from pair interactions with the other members.
  [[nodiscard]] double interaction_factor(const Group& group,
                                          std::size_t member,
                                          double group_weight) const;
  [[nodiscard]] GroupForecast point(const Group& group) const;
  void add_intervals(const Group& group, GroupForecast& forecast) const;
  [[nodiscard]] Eigen::MatrixXd log_covariance(const Group& group) const;
  [[nodiscard]] double size_gap(std::size_t size) const;

  ProfileViews views_;
  std::vector<Speed> speeds_;
  Eigen::MatrixXd pair_factors_;  // exp of the pair interactions: most requests are for pairs
  std::vector<LimitTraits> traits_;
  IntervalSettings intervals_;
};

}  // namespace carpool::model
