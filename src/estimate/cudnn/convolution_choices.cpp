#include "estimate/cudnn/convolution_choices.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text/json_integer.hpp"
#include "base/text/memory_size.hpp"
#include "learn/stored.hpp"

namespace carpool::estimate {
namespace {

using nlohmann::json;

// Differences below this share of the tensors plus these bytes do not count.
constexpr double kCloseShare = 0.05;
constexpr double kCloseBytes = 0.5 * kMiB;
constexpr double kMostCost = 2.0;
// Smaller convolutions have less weight.
constexpr double kLargeTensors = 8.0 * kMiB;

constexpr const char* kFormulas = "formulas";
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
    const double predicted = sizes.bytes(formula);
    const double off =
        applies(formula, pass)
            ? std::min(std::abs(std::log((taken + close) / (predicted + close))), kMostCost)
            : 2.0 * kMostCost;
    cases.judged.push_back({.cost = weight * off, .size = std::log((predicted + close) / close)});
  }
}

json formula_names() {
  json names = json::array();
  for (std::size_t number = 0; number < kWorkspaceFormulas; ++number) {
    names.push_back(name_of(static_cast<WorkspaceFormula>(number)));
  }
  return names;
}

// One line of text: input, threshold and skip of a split; of a leaf, the number of the expected
// formula, then those of a larger and a smaller one, each with its share.
std::string to_text(const ChoiceTree& tree) {
  json nodes = json::array();
  for (const ChoiceTree::Node& node : tree.nodes()) {
    const auto& [expected, larger, smaller] = node.choice;
    if (node.input >= 0) {
      nodes.push_back({node.input, node.threshold, node.skip});
    } else {
      nodes.push_back({expected, larger.answer, larger.share, smaller.answer, smaller.share});
    }
  }
  return nodes.dump();
}

Result<ChoiceTree> tree_from_text(const json& stored) {
  std::vector<ChoiceTree::Node> nodes;
  for (const json& entry : json::parse(stored.get<std::string>())) {
    if (entry.size() == 3) {
      nodes.push_back({.threshold = entry.at(1).get<double>(),
                       .input = integer_from<std::int32_t>(entry.at(0)),
                       .skip = integer_from<std::int32_t>(entry.at(2))});
    } else {
      nodes.push_back({.choice = {.expected = integer_from<std::uint8_t>(entry.at(0)),
                                  .larger = {.answer = integer_from<std::uint8_t>(entry.at(1)),
                                             .share = entry.at(2).get<double>()},
                                  .smaller = {.answer = integer_from<std::uint8_t>(entry.at(3)),
                                              .share = entry.at(4).get<double>()}}});
    }
  }
  auto tree = ChoiceTree::of(std::move(nodes), ConvolutionSizes::kInputs, kWorkspaceFormulas);
  if (!tree) {
    return learn::broken_entry("convolutions", "complete trees over the sizes of a convolution");
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
      // Only with autotuning does the first call differ.
      for (std::size_t time = one.setup.autotune ? 0 : 1; time < 2; ++time) {
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
    const auto [expected, larger, smaller] = tree.choose(inputs);
    const auto bytes = [&sizes](std::uint8_t number) {
      return sizes.bytes(static_cast<WorkspaceFormula>(number));
    };
    return {{{bytes(smaller.answer), smaller.share},
             {bytes(expected), 1.0 - smaller.share - larger.share},
             {bytes(larger.answer), larger.share}}};
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
  json all = {{kFormulas, formula_names()}};
  for (std::size_t setting = 0; setting < kSettings; ++setting) {
    for (std::size_t pass = 0; pass < kConvolutionPasses; ++pass) {
      const PassTrees& trees = trees_[setting][pass];
      all[kSettingNames[setting]][kPasses[pass]] = {{"first", to_text(trees.first)},
                                                    {"again", to_text(trees.again)}};
    }
  }
  return all;
}

Result<ConvolutionChoices> ConvolutionChoices::from_json(const json& stored) {
  ConvolutionChoices choices;
  try {
    if (stored.at(kFormulas) != formula_names()) {
      return learn::broken_entry("convolutions", "known formulas");
    }
    for (std::size_t setting = 0; setting < kSettings; ++setting) {
      for (std::size_t pass = 0; pass < kConvolutionPasses; ++pass) {
        const json& own = stored.at(kSettingNames[setting]).at(kPasses[pass]);
        auto first = tree_from_text(own.at("first"));
        auto again = tree_from_text(own.at("again"));
        if (!first || !again) {
          return tl::unexpected(first ? again.error() : first.error());
        }
        choices.trees_[setting][pass] = {.first = *std::move(first), .again = *std::move(again)};
      }
    }
  } catch (const json::exception&) {
    return learn::broken_entry("convolutions", "trees for every setting and pass");
  }
  return choices;
}

}  // namespace carpool::estimate
