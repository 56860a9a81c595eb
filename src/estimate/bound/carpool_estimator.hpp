// Our own estimator: expected = (context + k · replay) · exp(trees(features)) · centre of the
// family, upper = the same with the conformal factor of the family in place of its centre.
// The replay has nothing fitted but the workspaces of convolutions: they are learned from single
// ones, or, on machines without these, a factor on a rule of thumb is fitted by class. Fitted are
// also context and k where the context of the machine is not known, the trees where there are many
// measured convolutional nets, and the margins.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/memory_estimator.hpp"
#include "estimate/bound/margin.hpp"
#include "estimate/cudnn/convolution_choices.hpp"
#include "estimate/judge/rows.hpp"
#include "estimate/replay/replay.hpp"
#include "learn/regressor.hpp"

namespace carpool::estimate {

inline constexpr std::string_view kCarpoolEstimator = "carpool";
inline constexpr double kDefaultConfidence = 0.99;

// On the workspaces of convolutions that are known by rule of thumb: those that are tried.
inline constexpr std::array<double, 3> kWorkspaceFactors = {0.0, 1.0, 2.0};
inline constexpr std::size_t kUsualWorkspaces = 1;  // the place of 1 among them
inline constexpr std::array<std::size_t, 3> kAllFactors = {kUsualWorkspaces, 0, 2};
inline constexpr std::array<std::size_t, 2> kFactorsAboveZero = {kUsualWorkspaces, 2};

// All that the estimator asks of one job, without anything fitted.
struct JobFacts {
  // By workspace factor; one value in all places where there is nothing to try.
  std::array<double, kWorkspaceFactors.size()> reserved{};  // bytes
  double largest = 0.0;             // bytes, where a convolution is hungry; 0: that is no question
  JobReplay replay{};               // with the first of the factors
  std::string family{};             // of the margin
  std::string workspace_class{};    // empty: no convolutions
  bool learned_workspaces = false;  // from single convolutions; else by rule of thumb
  std::vector<double> features{};   // of the trees; empty: no convolutions
};

// `tried`: workspace factors to replay with where there is something to try; the first of them is
// that of JobFacts::replay.
[[nodiscard]] Result<JobFacts> facts_of_job(const DescribedJob& job,
                                            const ConvolutionChoices* convolutions,
                                            std::span<const std::size_t> tried);

// Families whose lists of layers lack some.
inline constexpr std::string_view kLayersMissing = "image, layers missing";
[[nodiscard]] std::string margin_family(const DescribedJob& job, const JobReplay& replay);
// Of the margin: families whose errors have tails of one kind.
[[nodiscard]] std::string margin_pool(const DescribedJob& job, const JobFacts& facts);
// Of the margin: log of what the hungriest algorithms would need over what is expected.
[[nodiscard]] double margin_spread(const DescribedJob& job, const JobFacts& facts, double central);
// Empty: no convolutions.
[[nodiscard]] std::string workspace_class(const DescribedJob& job, const JobReplay& replay);

// A choice for every class that is known by rule of thumb; absent: the mean over the factors above
// 0, as fragmentation makes any single one a gamble.
using WorkspaceFactors = std::map<std::string, std::optional<std::size_t>, std::less<>>;

struct CarpoolFit {
  // Learned from single convolutions; none: nullptr.
  std::shared_ptr<const ConvolutionChoices> convolutions{};
  WorkspaceFactors workspaces{};
  double context = 0.0;  // bytes, for machines that have none measured
  double slope = 1.0;    // k, for the same
  std::shared_ptr<const learn::Regressor> correction{};  // none: nullptr
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
