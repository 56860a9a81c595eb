#include "estimate/workspace_plan.hpp"

#include <algorithm>

namespace carpool {
namespace {

// One pass of one convolution that may take more than is expected of it.
struct Hungry {
  double bytes = 0.0;
  double chance = 0.0;
  double* planned = nullptr;
};

using PassBytes = std::array<double, kConvolutionPasses>;

std::vector<PassBytes> plan(std::span<const ConvolutionOdds> odds,
                            std::array<WorkspaceOdds, kConvolutionPasses> ConvolutionOdds::* when,
                            const TrainingSetup& setup,
                            const WorkspaceQuestion& question) {
  const std::size_t passes = setup.mode == RunMode::Infer ? 1 : kConvolutionPasses;
  const auto limit = static_cast<double>(question.limit);
  std::vector<PassBytes> planned(odds.size());
  std::vector<Hungry> hungry;
  for (std::size_t index = 0; index < odds.size(); ++index) {
    for (std::size_t pass = 0; pass < passes; ++pass) {
      const WorkspaceOdds& own = (odds[index].*when)[pass];
      double& bytes = planned[index][pass];
      bytes = own.expected <= limit ? own.expected : 0.0;
      if (own.chance > 0.0 && own.larger > own.expected && own.larger <= limit) {
        hungry.push_back({.bytes = own.larger, .chance = own.chance, .planned = &bytes});
      }
    }
  }
  std::ranges::sort(hungry, std::greater(), &Hungry::bytes);
  double none = 1.0;  // chance that none of those so far takes its larger workspace
  for (const Hungry& one : hungry) {
    none *= 1.0 - one.chance;
    if (1.0 - none >= question.chance) {
      *one.planned = one.bytes;
      break;
    }
  }
  return planned;
}

ConvolutionWorkspace to_workspace(const PassBytes& bytes) {
  return {.forward = static_cast<std::int64_t>(bytes[0]),
          .input_gradient = static_cast<std::int64_t>(bytes[1]),
          .weight_gradient = static_cast<std::int64_t>(bytes[2])};
}

}  // namespace

std::vector<PlannedWorkspace> plan_workspaces(std::span<const ConvolutionGeometry> convolutions,
                                              const TrainingSetup& setup,
                                              std::int64_t batch,
                                              const WorkspaceQuestion& question) {
  std::vector<PlannedWorkspace> planned(convolutions.size());
  if (question.choices == nullptr) {
    for (std::size_t index = 0; index < planned.size(); ++index) {
      planned[index].used = usual_workspace(convolutions[index], setup, batch);
    }
    return planned;
  }
  std::vector<ConvolutionOdds> odds;
  odds.reserve(convolutions.size());
  for (const ConvolutionGeometry& geometry : convolutions) {
    odds.push_back(question.choices->odds(geometry, setup, batch));
  }
  const auto used = plan(odds, &ConvolutionOdds::again, setup, question);
  const auto tried = setup.autotune ? plan(odds, &ConvolutionOdds::first, setup, question)
                                    : std::vector<PassBytes>(odds.size());
  for (std::size_t index = 0; index < planned.size(); ++index) {
    planned[index] = {.tried = to_workspace(tried[index]), .used = to_workspace(used[index])};
  }
  return planned;
}

}  // namespace carpool
