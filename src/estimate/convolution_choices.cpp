#include "estimate/convolution_choices.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "learn/stored.hpp"

namespace carpool {
namespace {

using nlohmann::json;

constexpr double kMiB = 1024.0 * 1024.0;
// A difference of this share of the tensors, or so many bytes, is none.
constexpr double kCloseShare = 0.05;
constexpr double kCloseBytes = 0.5 * kMiB;
constexpr double kMostCost = 2.0;
// Convolutions below it matter less and less.
constexpr double kLargeTensors = 8.0 * kMiB;

constexpr std::array<std::string_view, kConvolutionPasses> kPasses = {
    "forward", "input gradient", "weight gradient"};
constexpr std::array<std::string_view, 12> kSettingNames = {"fp32",
                                                            "fp32, autotuned",
                                                            "fp32, channels last",
                                                            "fp32, channels last, autotuned",
                                                            "tf32",
                                                            "tf32, autotuned",
                                                            "tf32, channels last",
                                                            "tf32, channels last, autotuned",
                                                            "16 bit",
                                                            "16 bit, autotuned",
                                                            "16 bit, channels last",
                                                            "16 bit, channels last, autotuned"};

void add_case(ChoiceCases& cases,
              const ConvolutionSizes& sizes,
              ConvolutionPass pass,
              double taken) {
  const auto inputs = sizes.inputs();
  cases.values.insert(cases.values.end(), inputs.begin(), inputs.end());
  const double close = kCloseShare * sizes.tensors() + kCloseBytes;
  const double weight = std::sqrt(std::min(1.0, sizes.tensors() / kLargeTensors));
  for (std::size_t number = 0; number < kWorkspaceFormulas; ++number) {
    const auto formula = static_cast<WorkspaceFormula>(number);
    const double told = sizes.bytes(formula);
    const double off =
        applies(formula, pass)
            ? std::min(std::abs(std::log((taken + close) / (told + close))), kMostCost)
            : 2.0 * kMostCost;
    cases.judged.push_back({.cost = weight * off, .size = std::log((told + close) / close)});
  }
}

json to_json(const ChoiceTree& tree) {
  json nodes = json::array();
  for (const ChoiceTree::Node& node : tree.nodes()) {
    if (node.input >= 0) {
      nodes.push_back({node.input, node.threshold, node.skip});
    } else {
      nodes.push_back({name_of(static_cast<WorkspaceFormula>(node.choice.expected)),
                       name_of(static_cast<WorkspaceFormula>(node.choice.larger)),
                       node.choice.share});
    }
  }
  return nodes;
}

Result<std::uint8_t> formula_from_json(const json& name) {
  const auto found = workspace_formula_named(name.get<std::string>());
  if (!found) {
    return broken_entry("convolutions", "names of formulas that are known");
  }
  return static_cast<std::uint8_t>(*found);
}

Result<ChoiceTree> tree_from_json(const json& stored) {
  std::vector<ChoiceTree::Node> nodes;
  for (const json& entry : stored) {
    if (entry.at(0).is_string()) {
      const auto expected = formula_from_json(entry.at(0));
      const auto larger = formula_from_json(entry.at(1));
      if (!expected || !larger) {
        return tl::unexpected(expected ? larger.error() : expected.error());
      }
      nodes.push_back(
          {.choice = {
               .expected = *expected, .larger = *larger, .share = entry.at(2).get<float>()}});
    } else {
      nodes.push_back({.threshold = entry.at(1).get<double>(),
                       .input = entry.at(0).get<std::int32_t>(),
                       .skip = entry.at(2).get<std::int32_t>()});
    }
  }
  auto tree = ChoiceTree::of(std::move(nodes), ConvolutionSizes::kInputs, kWorkspaceFormulas);
  if (!tree) {
    return broken_entry("convolutions", "whole trees over the sizes of a convolution");
  }
  return *std::move(tree);
}

}  // namespace

std::size_t ConvolutionChoices::setting_of(const TrainingSetup& setup) {
  std::size_t bits = 2;
  if (setup.precision == Precision::Fp32) {
    bits = setup.tf32 ? 1 : 0;
  }
  return bits * 4 + (setup.channels_last ? 2 : 0) + (setup.autotune ? 1 : 0);
}

ConvolutionChoices ConvolutionChoices::of(const std::vector<MeasuredConvolution>& measured) {
  std::array<std::array<std::array<ChoiceCases, 2>, kConvolutionPasses>, kSettings> cases;
  for (const MeasuredConvolution& one : measured) {
    const ConvolutionSizes sizes(one.geometry, one.setup, one.batch);
    for (std::size_t pass = 0; pass < kConvolutionPasses; ++pass) {
      for (std::size_t time = 0; time < 2; ++time) {
        ChoiceCases& own = cases[setting_of(one.setup)][pass][time];
        own.inputs = ConvolutionSizes::kInputs;
        own.answers = kWorkspaceFormulas;
        add_case(own, sizes, static_cast<ConvolutionPass>(pass), one.taken[pass][time]);
      }
    }
  }
  ConvolutionChoices choices;
  for (std::size_t setting = 0; setting < kSettings; ++setting) {
    for (std::size_t pass = 0; pass < kConvolutionPasses; ++pass) {
      PassTrees& trees = choices.trees_[setting][pass];
      trees.first = grow_choice_tree(cases[setting][pass][0]);
      trees.again = grow_choice_tree(cases[setting][pass][1]);
    }
  }
  return choices;
}

ConvolutionOdds ConvolutionChoices::odds(const ConvolutionGeometry& geometry,
                                         const TrainingSetup& setup,
                                         std::int64_t batch) const {
  const ConvolutionSizes sizes(geometry, setup, batch);
  const auto inputs = sizes.inputs();
  const auto by = [&](const ChoiceTree& tree) -> WorkspaceOdds {
    const Choice choice = tree.choose(inputs);
    return {.expected = sizes.bytes(static_cast<WorkspaceFormula>(choice.expected)),
            .larger = sizes.bytes(static_cast<WorkspaceFormula>(choice.larger)),
            .chance = choice.share};
  };
  const SettingTrees& trees = trees_[setting_of(setup)];
  ConvolutionOdds odds;
  for (std::size_t pass = 0; pass < kConvolutionPasses; ++pass) {
    odds.again[pass] = by(trees[pass].again);
    if (setup.autotune) {
      odds.first[pass] = by(trees[pass].first);
    }
  }
  return odds;
}

json ConvolutionChoices::to_json() const {
  json all = json::object();
  for (std::size_t setting = 0; setting < kSettings; ++setting) {
    for (std::size_t pass = 0; pass < kConvolutionPasses; ++pass) {
      const PassTrees& trees = trees_[setting][pass];
      all[kSettingNames[setting]][kPasses[pass]] = {{"first", carpool::to_json(trees.first)},
                                                    {"again", carpool::to_json(trees.again)}};
    }
  }
  return all;
}

Result<ConvolutionChoices> ConvolutionChoices::from_json(const json& stored) {
  ConvolutionChoices choices;
  try {
    for (std::size_t setting = 0; setting < kSettings; ++setting) {
      for (std::size_t pass = 0; pass < kConvolutionPasses; ++pass) {
        const json& own = stored.at(kSettingNames[setting]).at(kPasses[pass]);
        auto first = tree_from_json(own.at("first"));
        auto again = tree_from_json(own.at("again"));
        if (!first || !again) {
          return tl::unexpected(first ? again.error() : first.error());
        }
        choices.trees_[setting][pass] = {.first = *std::move(first), .again = *std::move(again)};
      }
    }
  } catch (const json::exception&) {
    return broken_entry("convolutions", "trees for every setting and pass");
  }
  return choices;
}

}  // namespace carpool
