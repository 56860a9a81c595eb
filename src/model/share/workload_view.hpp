// A fit of `share` applied to a list of profiles: parameters of workloads that were trained on, and
// of newcomers by their likeness to those.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "core/profile.hpp"
#include "model/share/design.hpp"
#include "model/share/share_fit.hpp"
#include "model/share_parameters.hpp"

namespace carpool::model {

// What is known of one profile.
struct WorkloadView {
  ShareParameters share;
  double log_alone = 0.0;  // log units/s with the GPU for itself
  bool trained = false;    // a workload of the training rows
  bool outside = false;    // unlike every workload of the training rows
};

class ProfileViews {
 public:
  ProfileViews(const ShareFit& fit, std::span<const Profile> profiles);

  [[nodiscard]] std::span<const WorkloadView> views() const { return views_; }

  // Log factor on the speed of one profile (row) beside another (column), beyond their weights.
  [[nodiscard]] const Eigen::MatrixXd& company() const { return company_; }

  // Posterior covariance of (capacity, weight, headroom) between two profiles.
  [[nodiscard]] Eigen::Matrix3d covariance(std::size_t left, std::size_t right) const;

 private:
  // Newcomers of one family are inferred together: their exclusive speeds tell of each other.
  struct Family {
    std::vector<std::size_t> members;  // profiles
    Eigen::MatrixXd spread;            // what the trained workloads leave open; blocks of 3
  };

  void view_trained(const ShareFit& fit, std::size_t profile, std::size_t position);
  void view_family(const ShareFit& fit, const ShareDesign& design, Family family);

  std::span<const Profile> profiles_;
  std::vector<WorkloadView> views_;
  // Parameters of a profile = loading * trained latents + something of its own.
  Eigen::MatrixXd loading_;             // three rows a profile
  Eigen::MatrixXd loading_covariance_;  // loading * posterior covariance of the trained latents
  Eigen::MatrixXd company_;
  std::vector<Family> families_;
  std::vector<std::optional<std::pair<std::size_t, std::size_t>>> place_;  // family, place in it
};

}  // namespace carpool::model
