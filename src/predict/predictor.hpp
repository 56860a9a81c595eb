// A model bound to the profiles at hand: forecasts told as speeds, slowdowns and progress.
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

  // Whether the model says how fast each member runs; else only the sum, or only an order.
  [[nodiscard]] bool predicts_members() const { return predicts_members_; }

  // Whether its numbers are units/s, which can be added up over GPUs.
  [[nodiscard]] bool predicts_sum() const { return predicts_sum_; }

  // Speed with the GPU for itself, units/s, by profile: the model's forecast of a group of one
  // where it predicts members, else the recorded exclusive throughput.
  [[nodiscard]] std::span<const double> alone() const { return alone_; }
  // The same for the members of a group, in order.
  [[nodiscard]] std::vector<double> alone(const Group& group) const;

  // As the forecaster's, but a group of one under a model that predicts the sum alone runs at its
  // recorded speed: such models are trained on groups and say nothing sensible of one.
  [[nodiscard]] std::vector<GroupForecast> forecast(std::span<const Group> candidates,
                                                    model::ForecastDetail detail) const;

  // Fails on an empty group, an unknown profile and a thread limit outside (0, 100].
  [[nodiscard]] Result<Prediction> predict(const Group& group) const;
  [[nodiscard]] Result<void> check_group(const Group& group) const;

  // As score_group(), members weighted by their place in the group.
  [[nodiscard]] Score score(const Objective& objective,
                            const Group& group,
                            const GroupForecast& forecast) const;

 private:
  Predictor(std::unique_ptr<model::Forecaster> forecaster, std::span<const Profile> profiles)
      : forecaster_(std::move(forecaster)), profiles_(profiles) {}

  std::unique_ptr<model::Forecaster> forecaster_;
  std::span<const Profile> profiles_;
  std::vector<double> alone_;
  bool predicts_members_ = false;
  bool predicts_sum_ = false;
};

}  // namespace carpool::predict
