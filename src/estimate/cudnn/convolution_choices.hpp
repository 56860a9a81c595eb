// Which algorithm cuDNN chooses for a convolution, learned from measured convolutions: for each
// setting (precision, layout, autotuning) and pass, a tree over the sizes whose leaves name a
// formula for the workspace. Internal to estimate/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"
#include "core/described_job.hpp"
#include "estimate/cudnn/choice_tree.hpp"
#include "estimate/cudnn/convolution_workspace.hpp"

namespace carpool::estimate {

struct MeasuredConvolution {
  ConvolutionGeometry geometry{};
  TrainingSetup setup{};  // the part that determines the algorithm
  std::int64_t batch = 1;
  // Workspace bytes of the first call, when algorithms may be tried, and of later calls.
  std::array<std::array<double, 2>, kConvolutionPasses> taken{};
};

// `name` is the name of the text in messages.
[[nodiscard]] Result<std::vector<MeasuredConvolution>> parse_convolutions(std::string_view text,
                                                                          std::string_view name);

// Possible workspaces of one pass of a convolution: bytes and probabilities, which add up to 1.
using WorkspaceOdds = std::array<std::pair<double, double>, 3>;

struct ConvolutionOdds {
  std::array<WorkspaceOdds, kConvolutionPasses> first{};  // call, which may try algorithms
  std::array<WorkspaceOdds, kConvolutionPasses> again{};
};

class ConvolutionChoices {
 public:
  [[nodiscard]] static ConvolutionChoices of(const std::vector<MeasuredConvolution>& measured);

  [[nodiscard]] ConvolutionOdds odds(const ConvolutionGeometry& geometry,
                                     const TrainingSetup& setup,
                                     std::int64_t batch) const;

  [[nodiscard]] nlohmann::json to_json() const;
  [[nodiscard]] static Result<ConvolutionChoices> from_json(const nlohmann::json& stored);

 private:
  static constexpr std::size_t kSettings = 12;  // precision, layout, autotuned
  struct PassTrees {
    ChoiceTree first{};  // call, which may try algorithms
    ChoiceTree again{};
  };
  using SettingTrees = std::array<PassTrees, kConvolutionPasses>;

  [[nodiscard]] static std::size_t setting_of(const TrainingSetup& setup);

  std::array<SettingTrees, kSettings> trees_{};
};

}  // namespace carpool::estimate
