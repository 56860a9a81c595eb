#include "estimate/bound/carpool_estimator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "estimate/replay/zero.hpp"
#include "learn/stored.hpp"

namespace carpool::estimate {
namespace {

using nlohmann::json;

// Bound / expected of a model of which only totals are known; an assumption, as no such jobs were
// measured.
constexpr double kTotalsFactor = 1.6;

std::string basis_of(const DescribedJob& job) {
  if (std::holds_alternative<LayerList>(job.model.shape)) {
    return job.model.traced_saved_bytes ? "trace" : "layers";
  }
  return std::holds_alternative<ModelTotals>(job.model.shape) ? "totals" : "config";
}

std::vector<std::string> notes_of(const DescribedJob& job, const JobFacts& facts) {
  std::vector<std::string> notes;
  if (facts.replay.unknown_layers > 0) {
    notes.push_back(fmt::format("{} layers of unknown type are counted as plain copies",
                                facts.replay.unknown_layers));
  }
  if (facts.family.starts_with(kLayersMissing)) {
    notes.push_back(fmt::format("{:.0f} % of the parameters belong to no layer of the list",
                                100.0 * facts.replay.unseen_parameters));
  }
  if (facts.family == "image, autotuned") {
    notes.emplace_back(
        "autotuned convolutions use whatever memory is free while algorithms are tried");
  }
  if (facts.family == "totals") {
    notes.emplace_back("only the totals of the model are known");
  }
  if (!job.machine.context_bytes) {
    notes.emplace_back("the context of this machine is fitted, not measured");
  }
  return notes;
}

MemoryBreakdown breakdown_of(const JobFacts& facts, double context, std::int64_t expected) {
  const auto of = [&](MemoryPurpose use) {
    return facts.replay.result.uses[static_cast<std::size_t>(use)];
  };
  MemoryBreakdown parts{.context = std::llround(context),
                        .weights = of(MemoryPurpose::Weights),
                        .gradients = of(MemoryPurpose::Gradients),
                        .optimizer = of(MemoryPurpose::Optimizer),
                        .activations = of(MemoryPurpose::Activations),
                        .workspace = of(MemoryPurpose::Workspace)};
  parts.allocator_slack = expected - parts.total();
  return parts;
}

}  // namespace

double reserved_bytes(const CarpoolFit& fit, const JobFacts& facts) {
  const auto chosen = fit.workspaces.find(facts.workspace_class);
  if (chosen != fit.workspaces.end() && chosen->second) {
    return facts.reserved[*chosen->second];
  }
  double sum = 0.0;
  for (const std::size_t factor : kFactorsAboveZero) {
    sum += facts.reserved[factor];
  }
  return sum / static_cast<double>(kFactorsAboveZero.size());
}

double central_estimate(const CarpoolFit& fit, const DescribedJob& job, const JobFacts& facts) {
  const double reserved = reserved_bytes(fit, facts);
  const double base = job.machine.context_bytes
                          ? static_cast<double>(*job.machine.context_bytes) + reserved
                          : fit.context + fit.slope * reserved;
  if (!fit.correction || facts.features.empty()) {
    return base;
  }
  const Eigen::Map<const Eigen::RowVectorXd> row(facts.features.data(),
                                                 static_cast<Eigen::Index>(facts.features.size()));
  return base * std::exp(fit.correction->predict(row)(0));
}

Result<MemoryEstimate> CarpoolEstimator::estimate(const DescribedJob& job) const {
  const auto facts = this->facts(job);
  if (!facts) {
    return tl::unexpected(facts.error());
  }
  const double central = central_estimate(fit_, job, *facts);
  const double context =
      job.machine.context_bytes ? static_cast<double>(*job.machine.context_bytes) : fit_.context;
  // No fitted factor goes below context and weights.
  const double least = context + static_cast<double>(facts->replay.result.weight_bytes);
  const double expected = std::max(central * fit_.margin.centre(facts->family), least);
  double factor = fit_.margin.factor(facts->family,
                                     fit_.confidence,
                                     margin_spread(job, *facts, central),
                                     margin_pool(job, *facts));
  if (facts->family == "totals" && !fit_.margin.knows("totals")) {
    factor = std::max(factor, kTotalsFactor);
  }
  // No job uses more than the GPU has.
  const auto most = job.machine.memory_bytes > 0 ? static_cast<double>(job.machine.memory_bytes)
                                                 : std::numeric_limits<double>::infinity();
  MemoryEstimate estimate{
      .expected = std::llround(expected),
      .upper = std::llround(std::max(std::min(central * factor, most), expected)),
      .confidence = fit_.confidence,
      .basis = basis_of(job),
      .notes = notes_of(job, *facts)};
  estimate.breakdown = breakdown_of(*facts, context, estimate.expected);
  share_states(job, facts->replay.result, estimate);
  return estimate;
}

// Runs only the replays that the fit needs.
Result<JobFacts> CarpoolEstimator::facts(const DescribedJob& job) const {
  if (fit_.correction) {
    return facts_with_features(job, fit_.convolutions.get());
  }
  const auto chosen = fit_.workspaces.find(workspace_class(job, {.convolutions = true}));
  if (chosen == fit_.workspaces.end() || !chosen->second) {
    return facts_of_job(job, fit_.convolutions.get(), kFactorsAboveZero);
  }
  return facts_of_job(job, fit_.convolutions.get(), std::array{*chosen->second});
}

json CarpoolEstimator::to_json() const {
  json workspaces = json::object();
  for (const auto& [name, index] : fit_.workspaces) {
    workspaces[name] = index ? json(kWorkspaceFactors[*index]) : json(nullptr);
  }
  return {{"convolutions", fit_.convolutions ? fit_.convolutions->to_json() : json(nullptr)},
          {"workspaces", workspaces},
          {"context", fit_.context},
          {"slope", fit_.slope},
          {"correction", fit_.correction ? fit_.correction->to_json() : json(nullptr)},
          {"margin", fit_.margin.to_json()},
          {"confidence", fit_.confidence}};
}

Result<CarpoolEstimator> CarpoolEstimator::from_json(const json& stored) {
  CarpoolFit fit;
  try {
    for (const auto& [name, value] : stored.at("workspaces").items()) {
      if (value.is_null()) {
        fit.workspaces[name] = std::nullopt;
        continue;
      }
      const auto found = std::ranges::find(kWorkspaceFactors, value.get<double>());
      if (found == kWorkspaceFactors.end()) {
        return learn::broken_entry("workspaces", "known factors");
      }
      fit.workspaces[name] = static_cast<std::size_t>(found - kWorkspaceFactors.begin());
    }
    if (const json& trees = stored.at("convolutions"); !trees.is_null()) {
      auto choices = ConvolutionChoices::from_json(trees);
      if (!choices) {
        return tl::unexpected(choices.error());
      }
      fit.convolutions = std::make_shared<const ConvolutionChoices>(*std::move(choices));
    }
    if (const json& trees = stored.at("correction"); !trees.is_null()) {
      auto regressor = learn::regressor_from_json(trees);
      if (!regressor) {
        return tl::unexpected(regressor.error());
      }
      if ((*regressor)->inputs() != static_cast<Eigen::Index>(kConvolutionFeatures)) {
        return learn::broken_entry("correction", "trees over the features of convolutions");
      }
      fit.correction = std::move(*regressor);
    }
    const auto margin = ConformalMargin::from_json(stored.at("margin"));
    if (!margin) {
      return tl::unexpected(margin.error());
    }
    fit.margin = *margin;
  } catch (const json::exception&) {
    return learn::broken_entry("params", "those of a memory estimator");
  }
  const auto context = learn::read_number(stored, "context");
  const auto slope = learn::read_number(stored, "slope");
  const auto confidence = learn::read_number(stored, "confidence");
  if (!context || !slope || !confidence || *context < 0.0 || *slope <= 0.0 || *confidence <= 0.0 ||
      *confidence >= 1.0) {
    return learn::broken_entry("params", "context, slope and confidence");
  }
  fit.context = *context;
  fit.slope = *slope;
  fit.confidence = *confidence;
  return CarpoolEstimator(std::move(fit));
}

}  // namespace carpool::estimate
