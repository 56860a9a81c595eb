#include "estimate/cudnn/convolution_workspace.hpp"

#include <algorithm>

namespace carpool::estimate {
namespace {

bool is_depthwise(const ConvolutionGeometry& geometry) {
  return geometry.groups > 1 && geometry.groups == geometry.in.channels;
}

}  // namespace

ConvolutionWorkspace usual_workspace(const ConvolutionGeometry& geometry,
                                     const TrainingSetup& setup,
                                     std::int64_t batch) {
  if (is_depthwise(geometry) || geometry.in.channels == 0) {
    return {};
  }
  const ConvolutionSizes sizes(geometry, setup, batch);
  const auto bytes = [&sizes](WorkspaceFormula formula) {
    constexpr double kMostBytes = 1e14;  // more overflows the replay anyway
    return static_cast<std::int64_t>(std::min(sizes.bytes(formula), kMostBytes));
  };
  if (is_strict_fp32(setup)) {
    const std::int64_t both = bytes(WorkspaceFormula::InOut);
    const std::int64_t forward = setup.channels_last ? both : 0;
    return {.forward = forward, .input_gradient = forward, .weight_gradient = both};
  }
  if (geometry.kernel == 1) {
    return {};
  }
  if (setup.channels_last) {
    const std::int64_t padded = bytes(WorkspaceFormula::Padded);
    return {.forward = padded,
            .input_gradient = padded,
            .weight_gradient = bytes(WorkspaceFormula::PaddedWeight)};
  }
  const std::int64_t copies = bytes(WorkspaceFormula::Copies);
  return {.forward = copies, .input_gradient = copies, .weight_gradient = copies};
}

}  // namespace carpool::estimate
