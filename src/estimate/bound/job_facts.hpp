// What the estimator computes of one job before anything fitted is applied: replays, the family
// that the job belongs to, and the features of its convolutions.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/described_job.hpp"
#include "estimate/cudnn/convolution_choices.hpp"
#include "estimate/replay/replay.hpp"

namespace carpool::estimate {

// Factors on the rule-of-thumb workspaces of convolutions that a fit chooses from.
inline constexpr std::array<double, 3> kWorkspaceFactors = {0.0, 1.0, 2.0};
inline constexpr std::size_t kUsualWorkspaces = 1;  // index of the factor 1
inline constexpr std::array<std::size_t, 3> kAllFactors = {kUsualWorkspaces, 0, 2};
inline constexpr std::array<std::size_t, 2> kFactorsAboveZero = {kUsualWorkspaces, 2};

inline constexpr std::size_t kConvolutionFeatures = 16;

struct JobFacts {
  // Reserved bytes by workspace factor; all equal where the factor changes nothing.
  std::array<double, kWorkspaceFactors.size()> reserved{};
  // Reserved bytes with unusually large workspaces; 0: workspaces do not vary that much.
  double largest = 0.0;
  JobReplay replay{};               // with the first factor tried
  std::string family{};             // of the margin
  std::string workspace_class{};    // empty: no convolutions
  bool learned_workspaces = false;  // from measured convolutions; else by rule of thumb
  std::vector<double> features{};   // kConvolutionFeatures numbers; empty: no convolutions
};

// `tried`: indexes of the workspace factors to replay with; JobFacts::replay is that of the first.
[[nodiscard]] Result<JobFacts> facts_of_job(const DescribedJob& job,
                                            const ConvolutionChoices* convolutions,
                                            std::span<const std::size_t> tried);

// The facts with all workspace factors, and the features where there are convolutions.
[[nodiscard]] Result<JobFacts> facts_with_features(const DescribedJob& job,
                                                   const ConvolutionChoices* convolutions);

// Prefix of the families whose layer lists are incomplete.
inline constexpr std::string_view kLayersMissing = "image, layers missing";
[[nodiscard]] std::string margin_family(const DescribedJob& job, const JobReplay& replay);
// Families in one pool have errors with similar tails.
[[nodiscard]] std::string margin_pool(const DescribedJob& job, const JobFacts& facts);
// log(bytes with unusually large workspaces / central estimate), at least 0.
[[nodiscard]] double margin_spread(const DescribedJob& job, const JobFacts& facts, double central);
// Precision, mode and layout as one name; empty: no convolutions.
[[nodiscard]] std::string workspace_class(const DescribedJob& job, const JobReplay& replay);

}  // namespace carpool::estimate
