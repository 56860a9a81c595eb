// Forecasts of `share` for candidate groups.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/limits/limit_factor.hpp"
#include "model/share/turn_views.hpp"
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
  // One entry of `limits` per profile. Without `turns`, groups of three and more are predicted by
  // weights, as pairs are.
  ShareForecaster(ProfileViews views,
                  std::optional<TurnViews> turns,
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

  // A whole group, added up.
  struct Crowd {
    double weight = 0.0;
    bool limited = false;   // by thread limits
    bool in_turns = false;  // predicted by the turn law
  };
  [[nodiscard]] Crowd crowd_of(const Group& group) const;
  // Of one member, before the factors of thread limits.
  [[nodiscard]] double speed_of(const Group& group, std::size_t member, const Crowd& crowd) const;
  [[nodiscard]] double weighted_speed(std::size_t profile, double group_weight) const;
  [[nodiscard]] double speed_in_turns(const Group& group, std::size_t member) const;
  // The wait of one profile for another under the turn law.
  struct AnchoredWait {
    PairWait wait;
    double anchor = 1.0;  // factor on it, from the forecast of the pair
  };
  [[nodiscard]] const AnchoredWait& wait_for(std::size_t profile, std::size_t other) const {
    return waits_[profile * speeds_.size() + other];
  }
  void anchor_turns();
  // Factor on its speed from pair interactions with the other members.
  [[nodiscard]] double interaction_factor(const Group& group,
                                          std::size_t member,
                                          double group_weight) const;
  [[nodiscard]] GroupForecast point(const Group& group) const;
  void add_intervals(const Group& group, GroupForecast& forecast) const;
  [[nodiscard]] Eigen::MatrixXd log_covariance(const Group& group) const;
  // Their posterior parts.
  [[nodiscard]] Eigen::MatrixXd weighted_covariance(const Group& group, const Crowd& crowd) const;
  [[nodiscard]] Eigen::MatrixXd covariance_in_turns(const Group& group) const;
  // Of a group size that was not trained on, log units.
  [[nodiscard]] double discrepancy(std::size_t size, const Crowd& crowd, bool all_trained) const;
  [[nodiscard]] double size_gap(std::size_t size) const;

  ProfileViews views_;
  std::optional<TurnViews> turns_;
  std::vector<Speed> speeds_;
  Eigen::MatrixXd pair_speeds_;  // of one profile (row) beside another: most requests are for pairs
  std::vector<AnchoredWait> waits_;  // profile after profile
  std::vector<LimitTraits> traits_;
  IntervalSettings intervals_;
};

}  // namespace carpool::model
