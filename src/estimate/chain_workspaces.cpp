#include <algorithm>

#include "estimate/chain.hpp"

namespace carpool {
namespace {

constexpr ConvolutionWorkspace kNothingTried = {
    .forward = kNoTrial, .input_gradient = kNoTrial, .weight_gradient = kNoTrial};

}  // namespace

// Once a batch size: the same in every step.
void ChainModel::plan() {
  const std::size_t count = chain_.convolutions.size();
  std::vector<ConvolutionGeometry> kinds;
  kind_.resize(count);
  first_of_kind_.assign(count, false);
  last_of_kind_.assign(count, false);
  std::vector<std::size_t> last;
  for (std::size_t index = 0; index < count; ++index) {
    const ConvolutionGeometry& geometry = chain_.convolutions[index];
    // Equal ones are often near.
    const auto same = std::find(kinds.rbegin(), kinds.rend(), geometry);
    kind_[index] = static_cast<std::size_t>(kinds.rend() - same) - 1;
    if (same == kinds.rend()) {
      kind_[index] = kinds.size();
      first_of_kind_[index] = true;
      kinds.push_back(geometry);
      last.push_back(index);
    } else {
      last[kind_[index]] = index;
    }
  }
  for (const std::size_t index : last) {
    last_of_kind_[index] = true;
  }
  planned_ = plan_workspaces(kinds, setup_, batch_, settings_.workspaces);
}

ConvolutionWorkspace ChainModel::workspace(const ChainStep& step) const {
  if (step.kind != ChainStep::Kind::Convolution) {
    return {};
  }
  const ConvolutionWorkspace& used = planned_[kind_[step.geometry]].used;
  const auto scaled = [this](std::int64_t bytes) {
    return static_cast<std::int64_t>(settings_.workspace_factor * static_cast<double>(bytes));
  };
  return {.forward = scaled(used.forward),
          .input_gradient = scaled(used.input_gradient),
          .weight_gradient = scaled(used.weight_gradient)};
}

ConvolutionWorkspace ChainModel::trial(const ChainStep& step) const {
  ConvolutionWorkspace trial = kNothingTried;
  if (step.kind != ChainStep::Kind::Convolution) {
    return trial;
  }
  const ConvolutionWorkspace& tried = planned_[kind_[step.geometry]].tried;
  if (tries_forward_ && first_of_kind_[step.geometry]) {
    trial.forward = tried.forward;
  }
  if (tries_backward_ && last_of_kind_[step.geometry]) {
    trial.input_gradient = tried.input_gradient;
    trial.weight_gradient = tried.weight_gradient;
  }
  return trial;
}

}  // namespace carpool
