// The similarity of workloads by their profiles: the matrices that the priors of `share` are built
// from (docs/model.md, "Two fits, averaged").
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

// Ways in which two workloads can be similar; each gives one matrix.
enum class Similarity {
  Common,       // all workloads share one level
  Features,     // products of standardised log metrics
  Family,       // same model and task
  Batch,        // products of standardised log2 batch
  FamilyBatch,  // the same within a family
  Own,          // each workload is similar only to itself
};

// How metrics become features.
enum class FeatureScale {
  Given,     // logarithm, standardised, as the given constants require
  FromBoth,  // shares also enter by their distance to full scale, and a metric that hardly varies
             // stays small
};

// Standardisation learned from the workloads of the training rows, applied to any profile.
class ShareDesign {
 public:
  ShareDesign(std::span<const Profile> trained,
              const dataset::FeatureSelection& selection,
              FeatureScale scale = FeatureScale::FromBoth);

  // What the prior uses of a list of profiles.
  struct Coordinates {
    Eigen::MatrixXd features;         // one row per profile; no column without metrics
    Eigen::VectorXd batch;            // 0 where unknown
    std::vector<std::string> family;  // a workload without a family is its own
    std::vector<std::string> name;
    std::vector<bool> measured;  // whether any metric of the selection is known
  };
  [[nodiscard]] Coordinates place(std::span<const Profile> profiles) const;

  // One row per profile of `left`, one column per profile of `right`. Own is 1 where the names are
  // equal.
  [[nodiscard]] Eigen::MatrixXd similarity(Similarity kind,
                                           const Coordinates& left,
                                           const Coordinates& right) const;

 private:
  // One column of features: the logarithm of a metric, or of its distance to full scale. The last
  // one is the solo throughput.
  struct Column {
    std::string metric;  // empty: the solo throughput
    std::optional<double> full;
    bool from_full = false;
  };
  [[nodiscard]] double raw(const Column& column, const Profile& profile) const;
  [[nodiscard]] Eigen::MatrixXd log_metrics(std::span<const Profile> profiles) const;

  dataset::FeatureSelection selection_;
  std::vector<Column> columns_;
  Eigen::RowVectorXd centre_;
  Eigen::RowVectorXd scale_;  // 0: the column does not vary and is ignored
  double batch_centre_ = 0.0;
  double batch_scale_ = 0.0;
};

}  // namespace carpool::model
