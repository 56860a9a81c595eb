// A fit of `share` applied to a list of profiles: parameters of workloads that were trained on, and
// of new workloads by their similarity to those.
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

// The parameters of one profile.
struct WorkloadView {
  ShareParameters share;
  double log_solo = 0.0;  // log of the solo speed in units/s
  bool trained = false;   // a workload of the training rows
  bool outside = false;   // not similar to any workload of the training rows
};

class ProfileViews {
 public:
  ProfileViews(const ShareFit& fit, std::span<const Profile> profiles);

  [[nodiscard]] std::span<const WorkloadView> views() const { return views_; }

  // Log factor on the speed of one profile (row) beside another (column), in addition to the
  // weights.
  [[nodiscard]] const Eigen::MatrixXd& pair_interaction() const { return pair_interaction_; }

  // Posterior covariance of (capacity, weight, headroom) between two profiles.
  [[nodiscard]] Eigen::Matrix3d covariance(std::size_t left, std::size_t right) const;

 private:
  // New workloads of one family are inferred together: the solo speed of one informs the others.
  struct Family {
    std::vector<std::size_t> members;  // profiles
    Eigen::MatrixXd spread;            // not determined by the trained workloads; blocks of 3
  };

  void view_trained(const ShareFit& fit, std::size_t profile, std::size_t position);
  void view_family(const ShareFit& fit, const ShareDesign& design, Family family);

  std::span<const Profile> profiles_;
  std::vector<WorkloadView> views_;
  // Parameters of a profile = loading * trained latents + a part of its own.
  Eigen::MatrixXd loading_;             // three rows per profile
  Eigen::MatrixXd loading_covariance_;  // loading * posterior covariance of the trained latents
  Eigen::MatrixXd pair_interaction_;
  std::vector<Family> families_;
  std::vector<std::optional<std::pair<std::size_t, std::size_t>>> place_;  // family, position in it
};

}  // namespace carpool::model
