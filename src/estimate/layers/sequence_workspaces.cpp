#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "estimate/layers/layer_sequence.hpp"

namespace carpool::estimate {
namespace {

constexpr ConvolutionWorkspace kNothingTried = {
    .forward = kNoTrial, .input_gradient = kNoTrial, .weight_gradient = kNoTrial};

// Gives equal convolutions the same number: a hash table with linear probing.
class KindFinder {
 public:
  explicit KindFinder(std::size_t count) : places_(std::bit_ceil(2 * count + 1), kFree) {}

  // The index in `kinds` of the equal one; without one, that of the next, which the caller adds.
  [[nodiscard]] std::size_t find(const ConvolutionGeometry& geometry,
                                 const std::vector<ConvolutionGeometry>& kinds) {
    std::size_t place = hash_of(geometry) & (places_.size() - 1);
    while (places_[place] != kFree && kinds[places_[place]] != geometry) {
      place = (place + 1) & (places_.size() - 1);
    }
    if (places_[place] == kFree) {
      places_[place] = kinds.size();
    }
    return places_[place];
  }

 private:
  static constexpr std::size_t kFree = std::numeric_limits<std::size_t>::max();

  static std::size_t hash_of(const ConvolutionGeometry& geometry) {
    std::uint64_t hash = 0;
    for (const std::int64_t part : {geometry.in.channels,
                                    geometry.in.height,
                                    geometry.in.width,
                                    geometry.out.channels,
                                    geometry.out.height,
                                    geometry.kernel,
                                    geometry.groups}) {
      constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
      hash = (hash ^ static_cast<std::uint64_t>(part)) * kOdd;
    }
    return hash >> 32U;
  }

  std::vector<std::size_t> places_;
};

}  // namespace

// Once per batch size: the plan is the same in every step.
void SequenceModel::plan() {
  const std::size_t count = sequence_.convolutions.size();
  std::vector<ConvolutionGeometry> kinds;
  kinds.reserve(count);
  KindFinder finder(count);
  kind_.resize(count);
  first_of_kind_.assign(count, false);
  last_of_kind_.assign(count, false);
  for (std::size_t index = 0; index < count; ++index) {
    kind_[index] = finder.find(sequence_.convolutions[index], kinds);
    first_of_kind_[index] = kind_[index] == kinds.size();
    if (first_of_kind_[index]) {
      kinds.push_back(sequence_.convolutions[index]);
    }
  }
  std::vector<bool> seen(kinds.size(), false);
  for (std::size_t index = count; index-- > 0;) {
    last_of_kind_[index] = !seen[kind_[index]];
    seen[kind_[index]] = true;
  }
  WorkspaceRequest request = settings_.workspaces;
  request.other_bytes = approximate_other_bytes();
  planned_ = plan_workspaces(kinds, setup_, batch_, request);
}

// Roughly, bytes of the job without workspaces: what training keeps or inference passes on.
double SequenceModel::approximate_other_bytes() const {
  constexpr double kProcess = 1e9;
  double sum = 0.0;
  double largest = 0.0;
  for (const SequenceStep& step : sequence_.steps) {
    const auto bytes = static_cast<double>(elements(step)) * sizes_.compute;
    sum += bytes;
    largest = std::max(largest, bytes);
  }
  return kProcess + (training_ ? sum : 2.0 * largest);
}

ConvolutionWorkspace SequenceModel::workspace(const SequenceStep& step) const {
  if (step.kind != SequenceStep::Kind::Convolution) {
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

ConvolutionWorkspace SequenceModel::trial(const SequenceStep& step) const {
  ConvolutionWorkspace trial = kNothingTried;
  if (step.kind != SequenceStep::Kind::Convolution) {
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

}  // namespace carpool::estimate
