#include "estimate/cudnn/workspace_plan.hpp"

#include <algorithm>
#include <functional>

namespace carpool::estimate {
namespace {

// Workspaces below this share of the other memory do not affect the peak.
constexpr double kMatters = 0.02;

// A possible workspace of one pass of one convolution.
struct Outcome {
  double bytes = 0.0;
  double chance = 0.0;
  std::size_t pass = 0;
};

using PassBytes = std::array<double, kConvolutionPasses>;
using OddsOfPasses = std::array<WorkspaceOdds, kConvolutionPasses> ConvolutionOdds::*;

// In descending order.
std::vector<Outcome> outcomes_of(std::span<const ConvolutionOdds> odds,
                                 OddsOfPasses when,
                                 std::size_t passes,
                                 const WorkspaceRequest& request) {
  const auto limit = static_cast<double>(request.limit);
  std::vector<Outcome> outcomes;
  for (std::size_t index = 0; index < odds.size(); ++index) {
    for (std::size_t pass = 0; pass < passes; ++pass) {
      for (const auto& [bytes, chance] : (odds[index].*when)[pass]) {
        if (chance > 0.0 && bytes > kMatters * request.other_bytes && bytes <= limit) {
          outcomes.push_back(
              {.bytes = bytes, .chance = chance, .pass = index * kConvolutionPasses + pass});
        }
      }
    }
  }
  std::ranges::sort(outcomes, std::greater(), &Outcome::bytes);
  return outcomes;
}

// T; 0: no workspace affects the peak.
double largest_planned(const std::vector<Outcome>& outcomes,
                       std::size_t passes,
                       const WorkspaceRequest& request) {
  std::vector<double> below(passes, 1.0);  // of each pass: chance to stay below the outcomes so far
  std::vector<double> weights;             // of each outcome being the largest
  weights.reserve(outcomes.size());
  double none = 1.0;  // chance that all passes stay below
  double sum = 0.0;
  for (const Outcome& outcome : outcomes) {
    double& own = below[outcome.pass];
    const double left = std::max(own - outcome.chance, 0.0);
    const double here = own > 0.0 ? none * (own - left) / own : 0.0;
    none -= here;
    own = left;
    if (request.chance > 0.0 && 1.0 - none > request.chance) {
      return outcome.bytes;
    }
    weights.push_back(here / (request.other_bytes + outcome.bytes));
    sum += weights.back();
  }
  if (request.chance > 0.0) {
    return 0.0;
  }
  const double half = 0.5 * (sum + none / request.other_bytes);
  double reached = 0.0;
  for (std::size_t index = 0; index < outcomes.size(); ++index) {
    reached += weights[index];
    if (reached >= half) {
      return outcomes[index].bytes;
    }
  }
  return 0.0;
}

std::vector<PassBytes> plan(std::span<const ConvolutionOdds> odds,
                            OddsOfPasses when,
                            const TrainingSetup& setup,
                            const WorkspaceRequest& request) {
  const std::size_t passes = setup.mode == RunMode::Infer ? 1 : kConvolutionPasses;
  const auto outcomes = outcomes_of(odds, when, passes, request);
  const double most = std::max(largest_planned(outcomes, odds.size() * kConvolutionPasses, request),
                               kMatters * request.other_bytes);
  std::vector<PassBytes> planned(odds.size());
  for (std::size_t index = 0; index < odds.size(); ++index) {
    for (std::size_t pass = 0; pass < passes; ++pass) {
      const WorkspaceOdds& own = (odds[index].*when)[pass];
      double best = 0.0;
      for (const auto& [bytes, chance] : own) {
        // The middle one is the most probable; a larger one counts only where it is T.
        if (chance > 0.0 && bytes <= most && (bytes == most || bytes <= own[1].first)) {
          best = std::max(best, bytes);
        }
      }
      planned[index][pass] = best;
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
                                              const WorkspaceRequest& request) {
  std::vector<PlannedWorkspace> planned(convolutions.size());
  if (request.choices == nullptr) {
    for (std::size_t index = 0; index < planned.size(); ++index) {
      planned[index].used = usual_workspace(convolutions[index], setup, batch);
    }
    return planned;
  }
  std::vector<ConvolutionOdds> odds;
  odds.reserve(convolutions.size());
  for (const ConvolutionGeometry& geometry : convolutions) {
    odds.push_back(request.choices->odds(geometry, setup, batch));
  }
  const auto used = plan(odds, &ConvolutionOdds::again, setup, request);
  const auto tried = setup.autotune ? plan(odds, &ConvolutionOdds::first, setup, request)
                                    : std::vector<PassBytes>(odds.size());
  for (std::size_t index = 0; index < planned.size(); ++index) {
    planned[index] = {.tried = to_workspace(tried[index]), .used = to_workspace(used[index])};
  }
  return planned;
}

}  // namespace carpool::estimate
