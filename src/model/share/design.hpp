// What profiles say about how alike workloads are: the matrices that the priors of `share` are
// built from (docs/model.md, "Prior").
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "core/profile.hpp"
#include "dataset/features.hpp"

namespace carpool::model {

// Ways in which two workloads can be alike; each gives one matrix.
enum class Likeness {
  Common,       // all workloads share one level
  Features,     // products of standardised log metrics
  Family,       // same model and task
  Batch,        // products of standardised log2 batch
  FamilyBatch,  // the same within a family: a slope of its own
  Own,          // nothing but itself
};

// How metrics become features.
enum class FeatureScale {
  Given,     // logarithm, standardised: as the given constants want it
  FromBoth,  // shares are also looked at from their full scale, and what hardly varies stays small
};

// Standardisation learned from the workloads of the training rows, applied to any profile.
class ShareDesign {
 public:
  ShareDesign(std::span<const Profile> trained,
              const dataset::FeatureSelection& selection,
              FeatureScale scale = FeatureScale::FromBoth);

  // What the prior needs to know of a list of profiles.
  struct Coordinates {
    Eigen::MatrixXd features;         // one row a profile; no column without metrics
    Eigen::VectorXd batch;            // 0 where unknown
    std::vector<std::string> family;  // a workload without one is its own
    std::vector<std::string> name;
    std::vector<bool> measured;  // whether any metric of the selection is known
  };
  [[nodiscard]] Coordinates place(std::span<const Profile> profiles) const;

  // One row a left, one column a right. Own is 1 where both have the same name.
  [[nodiscard]] Eigen::MatrixXd likeness(Likeness kind,
                                         const Coordinates& left,
                                         const Coordinates& right) const;

 private:
  // One column of features: a metric's logarithm, or the logarithm of what it lacks of its full
  // scale. The last one is the throughput alone.
  struct Column {
    std::string metric;  // empty: the throughput alone
    std::optional<double> full;
    bool from_full = false;
  };
  [[nodiscard]] double raw(const Column& column, const Profile& profile) const;
  [[nodiscard]] Eigen::MatrixXd log_metrics(std::span<const Profile> profiles) const;

  dataset::FeatureSelection selection_;
  std::vector<Column> columns_;
  Eigen::RowVectorXd centre_;
  Eigen::RowVectorXd scale_;  // 0: the column does not vary and says nothing
  double batch_centre_ = 0.0;
  double batch_scale_ = 0.0;
};

}  // namespace carpool::model
