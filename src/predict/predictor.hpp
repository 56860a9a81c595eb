// A model bound to profiles: forecasts as speeds, slowdowns and progress.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "core/group.hpp"
#include "core/prediction.hpp"
#include "core/profile.hpp"
#include "model/throughput_model.hpp"
#include "predict/objective.hpp"

namespace carpool::predict {

// Thread-safe. Profiles, and the model behind the forecaster, must outlive it.
class Predictor {
 public:
  [[nodiscard]] static Result<Predictor> create(const model::ThroughputModel& model,
                                                std::span<const Profile> profiles);
  // `forecaster` is bound to the same profiles.
  [[nodiscard]] static Result<Predictor> create(std::unique_ptr<model::Forecaster> forecaster,
                                                std::span<const Profile> profiles);

  [[nodiscard]] std::span<const Profile> profiles() const { return profiles_; }
  [[nodiscard]] const model::Forecaster& forecaster() const { return *forecaster_; }

  // Whether the model predicts the speed of each member, not only the sum or an order.
  [[nodiscard]] bool predicts_members() const { return predicts_members_; }

  // Whether it predicts sums in units/s, which can be added over GPUs.
  [[nodiscard]] bool predicts_sum() const { return predicts_sum_; }

  // Solo speed, units/s, by profile: the forecast of a group of one where the model predicts
  // members, else the recorded exclusive throughput.
  [[nodiscard]] std::span<const double> solo_speeds() const { return solo_speeds_; }
  // The same for the members of a group, in order.
  [[nodiscard]] std::vector<double> solo_speeds(const Group& group) const;

  // As the forecaster, but a group of one under a model that predicts only the sum runs at its
  // recorded speed: such models are trained on larger groups and are wrong for one member.
  [[nodiscard]] std::vector<GroupForecast> forecast(std::span<const Group> candidates,
                                                    model::ForecastDetail detail) const;

  // Fails on an empty group, an unknown profile and a thread limit outside (0, 100].
  [[nodiscard]] Result<Prediction> predict(const Group& group) const;
  [[nodiscard]] Result<void> check_group(const Group& group) const;

  // As score_group(), members weighted by their position in the group.
  [[nodiscard]] Score score(const Objective& objective,
                            const Group& group,
                            const GroupForecast& forecast) const;

 private:
  Predictor(std::unique_ptr<model::Forecaster> forecaster, std::span<const Profile> profiles)
      : forecaster_(std::move(forecaster)), profiles_(profiles) {}

  std::unique_ptr<model::Forecaster> forecaster_;
  std::span<const Profile> profiles_;
  std::vector<double> solo_speeds_;
  bool predicts_members_ = false;
  bool predicts_sum_ = false;
};

}  // namespace carpool::predict
