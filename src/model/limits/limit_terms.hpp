// The sum that the thread-limit fit minimises: measured speeds, and priors of the parameters.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "dataset/dataset.hpp"
#include "model/limits/limit_layout.hpp"
#include "model/limits/limit_population.hpp"
#include "model/limits/measured_group.hpp"
#include "model/limits/robust_fit.hpp"
#include "model/share_parameters.hpp"

namespace carpool::model {

class LimitTerms final : public RobustTerms {
 public:
  // `share` by profile. Speeds of zero have no logarithm and are skipped.
  LimitTerms(std::span<const ShareParameters> share,
             std::span<const dataset::GroupRow> groups,
             std::span<const dataset::LimitedRun> solo_runs,
             const std::string& reference_campaign);

  [[nodiscard]] std::size_t size() const override { return observations_.size() + priors_.size(); }
  [[nodiscard]] double tail(std::size_t term) const override;
  [[nodiscard]] double residual(std::size_t term,
                                const Eigen::VectorXd& x,
                                SparseRow* row) const override;

  [[nodiscard]] const LimitLayout& layout() const { return layout_; }
  // The population before any measurement.
  [[nodiscard]] const LimitPopulation& prior() const { return prior_; }
  // The mean of the priors, where the fit starts.
  [[nodiscard]] Eigen::VectorXd start(std::span<const ShareParameters> share) const;

 private:
  struct Observation {
    std::size_t group = 0;
    std::size_t member = 0;
    double log_speed = 0.0;
    double deviation = 0.0;
  };
  // (row . x - target) / deviation
  struct Prior {
    SparseRow row;
    double target = 0.0;
    double deviation = 1.0;
    double tail = kGaussianTail;
  };

  void add_measurement(std::span<const ShareParameters> share,
                       const Group& group,
                       std::span<const double> throughput,
                       const LimitLayout::Campaign& campaign);
  void add_population_priors();
  void add_workload_priors(std::span<const ShareParameters> share);
  void add_offset_priors();

  LimitLayout layout_;
  LimitPopulation prior_;
  std::vector<MeasuredGroup> groups_;
  std::vector<Observation> observations_;
  std::vector<Prior> priors_;
};

}  // namespace carpool::model
