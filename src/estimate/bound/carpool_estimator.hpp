// Carpool's own estimator: expected = (context + k · replay) · exp(trees(features)) · centre of the
// family; upper = the same with the conformal factor of the family in place of its centre.
// Fitted are
//   workspaces     of convolutions, learned from measured ones; else a factor on a rule of thumb
//   context and k  where the context of the machine was not measured
//   trees          where there are many measured convolutional nets
//   margins        centre and conformal factor of each family
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "core/memory_estimator.hpp"
#include "estimate/bound/job_facts.hpp"
#include "estimate/bound/margin.hpp"
#include "estimate/cudnn/convolution_choices.hpp"
#include "estimate/judge/rows.hpp"
#include "learn/regressor.hpp"

namespace carpool::estimate {

inline constexpr std::string_view kCarpoolEstimator = "carpool";
inline constexpr double kDefaultConfidence = 0.99;

// By class, the index of the factor on the rule of thumb; nullopt: the mean over the factors above
// 0, as fragmentation makes any single one unreliable.
using WorkspaceFactors = std::map<std::string, std::optional<std::size_t>, std::less<>>;

struct CarpoolFit {
  // Learned from measured convolutions; nullptr: none.
  std::shared_ptr<const ConvolutionChoices> convolutions{};
  WorkspaceFactors workspaces{};
  double context = 0.0;  // bytes, for machines without a measured one
  double slope = 1.0;    // k, for the same machines
  std::shared_ptr<const learn::Regressor> correction{};  // nullptr: none
  ConformalMargin margin{};
  double confidence = kDefaultConfidence;
};

// Expected bytes before the margin.
[[nodiscard]] double central_estimate(const CarpoolFit& fit,
                                      const DescribedJob& job,
                                      const JobFacts& facts);
[[nodiscard]] double reserved_bytes(const CarpoolFit& fit, const JobFacts& facts);

class CarpoolEstimator final : public MemoryEstimator {
 public:
  explicit CarpoolEstimator(CarpoolFit fit) : fit_(std::move(fit)) {}

  [[nodiscard]] std::string_view name() const override { return kCarpoolEstimator; }
  [[nodiscard]] Result<MemoryEstimate> estimate(const DescribedJob& job) const override;

  [[nodiscard]] const CarpoolFit& fit() const { return fit_; }
  [[nodiscard]] nlohmann::json to_json() const;
  [[nodiscard]] static Result<CarpoolEstimator> from_json(const nlohmann::json& stored);

 private:
  [[nodiscard]] Result<JobFacts> facts(const DescribedJob& job) const;

  CarpoolFit fit_;
};

}  // namespace carpool::estimate
