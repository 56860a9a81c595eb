// The turn law applied to a list of profiles: turns of workloads that were trained on, and of new
// workloads by their similarity to those.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "core/profile.hpp"
#include "model/share/share_fit.hpp"
#include "model/share/turn_fit.hpp"
#include "model/share/turn_law.hpp"
#include "model/share/workload_view.hpp"

namespace carpool::model {

class TurnViews {
 public:
  // `fit.turns` must hold a fit; one view per profile.
  TurnViews(const ShareFit& fit,
            std::span<const Profile> profiles,
            std::span<const WorkloadView> views);

  [[nodiscard]] const Turn& turn(std::size_t profile) const { return turns_[profile]; }

  // Speed beside others that leave the GPU idle, units/s.
  [[nodiscard]] double speed(std::size_t profile) const { return speeds_[profile]; }

  // Posterior covariance of (cost, length, open, slip) between two profiles.
  [[nodiscard]] Eigen::Matrix4d covariance(std::size_t left, std::size_t right) const;

  [[nodiscard]] double noise() const { return noise_; }
  [[nodiscard]] double inflation() const { return inflation_; }

 private:
  std::vector<Turn> turns_;
  std::vector<double> speeds_;
  // Latents of a profile = loading * trained latents + a part of its own.
  Eigen::MatrixXd loading_;             // four rows per profile
  Eigen::MatrixXd loading_covariance_;  // loading * posterior covariance of the trained latents
  std::vector<std::optional<std::size_t>> newcomer_;  // position among the new workloads
  std::vector<Eigen::MatrixXd> spread_;               // of each block, between new workloads
  double noise_ = 0.0;
  double inflation_ = 1.0;
};

}  // namespace carpool::model
