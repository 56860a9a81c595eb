#include <cmath>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "base/text/memory_size.hpp"
#include "estimate/cudnn/workspace_plan.hpp"

namespace carpool::estimate {
namespace {

constexpr std::int64_t kWorkspaceRoom = 100 * kGiB;

ConvolutionGeometry image_of(std::int64_t in,
                             std::int64_t out,
                             std::int64_t kernel,
                             std::int64_t side,
                             std::int64_t stride = 1) {
  const std::int64_t made = (side + stride - 1) / stride;
  return {.in = {.channels = in, .height = side, .width = side},
          .out = {.channels = out, .height = made, .width = made},
          .kernel = kernel};
}

double formula_mib(const ConvolutionGeometry& geometry,
                   const TrainingSetup& setup,
                   std::int64_t batch,
                   WorkspaceFormula formula) {
  return ConvolutionSizes(geometry, setup, batch).bytes(formula) / kMiB;
}

// Measured values of data/memory-collected/convolutions.jsonl.gz; the allocator hands out up to
// 1 MiB more than was asked for.
TEST(WorkspaceFormula, AgreesWithMeasurements) {
  using enum WorkspaceFormula;
  const TrainingSetup strict{.precision = Precision::Fp32};
  const ConvolutionGeometry large = image_of(1024, 1024, 3, 24);
  EXPECT_NEAR(formula_mib(large, strict, 41, ForwardTransform), 9088.5, 1.1);
  EXPECT_NEAR(formula_mib(large, strict, 41, TiledTransform), 4700.5, 1.1);
  EXPECT_NEAR(formula_mib(large, strict, 41, Winograd), 559.1, 1.1);
  EXPECT_NEAR(formula_mib(image_of(32, 1280, 3, 16), strict, 112, ForwardTransform), 1192.0, 1.1);
  EXPECT_NEAR(formula_mib(image_of(256, 256, 3, 64), strict, 8, TiledTransform), 306.0, 1.1);
  const TrainingSetup tuned{.precision = Precision::Fp32, .autotune = true};
  EXPECT_NEAR(formula_mib(image_of(3, 24, 1, 128), tuned, 74, WeightTransform), 364.65, 1.1);
  EXPECT_NEAR(formula_mib(image_of(512, 512, 3, 32, 2), tuned, 2, StridedTransform), 4394.4, 3.0);
  const TrainingSetup last{
      .precision = Precision::Fp32, .tf32 = true, .channels_last = true, .autotune = true};
  EXPECT_NEAR(formula_mib(image_of(160, 144, 1, 48), last, 204, ForwardTransform), 2340.0, 1.1);
}

TEST(WorkspaceFormula, IsZeroWhereThereIsNoSuchAlgorithm) {
  using enum WorkspaceFormula;
  const TrainingSetup strict{.precision = Precision::Fp32};
  EXPECT_EQ(formula_mib(image_of(64, 64, 3, 56, 2), strict, 8, ForwardTransform), 0.0);
  EXPECT_EQ(formula_mib(image_of(64, 64, 1, 56), strict, 8, ForwardTransform), 0.0);
  EXPECT_EQ(formula_mib(image_of(64, 64, 3, 300), strict, 8, WeightTransform), 0.0);
  EXPECT_EQ(formula_mib(image_of(64, 64, 5, 56), strict, 8, Winograd), 0.0);
  EXPECT_EQ(formula_mib(image_of(64, 64, 1, 56), strict, 8, TiledTransform), 0.0);
  ConvolutionGeometry depthwise = image_of(64, 64, 3, 56);
  depthwise.groups = 64;
  for (const WorkspaceFormula formula :
       {ForwardTransform, WeightTransform, TiledTransform, StridedTransform, Winograd}) {
    EXPECT_EQ(formula_mib(depthwise, strict, 8, formula), 0.0) << name_of(formula);
  }
  EXPECT_FALSE(applies(ForwardTransform, ConvolutionPass::WeightGradient));
}

// Convolutions of 3 x 3 in strict fp32; those with more than 256 channels are transformed, except
// for `without_among_ten` of ten.
std::string measured_lines(int without_among_ten) {
  std::string lines;
  int count = 0;
  for (std::int64_t channels = 16; channels <= 1024; channels += 4) {
    const ConvolutionGeometry geometry = image_of(channels, channels, 3, 24);
    const bool transformed = channels > 256 && count++ % 10 >= without_among_ten;
    const double taken =
        transformed ? formula_mib(geometry, {}, 16, WorkspaceFormula::ForwardTransform) : 0.0;
    const nlohmann::json line = {{"cfg",
                                  {{"n", 16},
                                   {"cin", channels},
                                   {"cout", channels},
                                   {"k", 3},
                                   {"stride", 1},
                                   {"pad", 1},
                                   {"size", 24},
                                   {"groups", 1},
                                   {"prec", "fp32"},
                                   {"cl", 0},
                                   {"bench", 0}}},
                                 {"ok", 1},
                                 {"forward", {taken, taken}},
                                 {"input_gradient", {0.0, 0.0}},
                                 {"weight_gradient", {0.0, 0.0}}};
    lines += line.dump() + "\n";
  }
  return lines;
}

ConvolutionChoices learned(int without_among_ten) {
  const auto measured = parse_convolutions(measured_lines(without_among_ten), "lines");
  EXPECT_TRUE(measured);
  return ConvolutionChoices::of(*measured);
}

double planned_forward(const ConvolutionChoices& choices,
                       const std::vector<ConvolutionGeometry>& convolutions,
                       double chance,
                       std::int64_t limit = kWorkspaceRoom) {
  const auto planned =
      plan_workspaces(convolutions,
                      {},
                      16,
                      {.choices = &choices, .chance = chance, .limit = limit, .other_bytes = 1e9});
  double most = 0.0;
  for (const PlannedWorkspace& one : planned) {
    most = std::max(most, static_cast<double>(one.used.forward) / kMiB);
  }
  return most;
}

TEST(ConvolutionChoices, LearnTheChosenAlgorithm) {
  const ConvolutionChoices choices = learned(0);
  const ConvolutionGeometry large = image_of(515, 515, 3, 24);
  EXPECT_NEAR(planned_forward(choices, {large}, 0.0),
              formula_mib(large, {}, 16, WorkspaceFormula::ForwardTransform),
              1.0);
  EXPECT_EQ(planned_forward(choices, {image_of(90, 90, 3, 24)}, 0.0), 0.0);
  // Where an algorithm does not fit, the next one is chosen.
  EXPECT_EQ(planned_forward(choices, {large}, 0.0, kMiB), 0.0);
}

std::optional<ErrorCode> code_of(const nlohmann::json& stored) {
  const auto read = ConvolutionChoices::from_json(stored);
  return read ? std::nullopt : std::optional(read.error().code);
}

TEST(ConvolutionChoices, AreReadAsWritten) {
  const ConvolutionChoices choices = learned(3);
  const nlohmann::json stored = choices.to_json();
  const auto again = ConvolutionChoices::from_json(stored);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->to_json(), stored);
  nlohmann::json broken = stored;
  broken["formulas"][0] = "another";
  EXPECT_EQ(code_of(broken), ErrorCode::Corrupt);
  broken = stored;
  for (const char* text :
       {"[[0,1.0,7]]", "[[99,0,0.0,0,0.0]]", "[[300,0,0.0,0,0.0]]", "[[0", "[]"}) {
    broken["fp32"]["forward"]["again"] = text;
    EXPECT_EQ(code_of(broken), ErrorCode::Corrupt) << text;
  }
  broken["fp32"]["forward"]["again"] = 1;
  EXPECT_EQ(code_of(broken), ErrorCode::Corrupt);
  broken = stored;
  broken.erase("tf32");
  EXPECT_EQ(code_of(broken), ErrorCode::Corrupt);
}

TEST(ConvolutionChoices, ErrorsNameTheLine) {
  const std::string good = measured_lines(0);
  const auto error_of = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    const auto read = parse_convolutions(text, "FILE");
    EXPECT_FALSE(read);
    return read ? std::string() : read.error().message;
  };
  EXPECT_NE(error_of("\"fp32\"", "\"fp31\"").find("FILE:1"), std::string::npos);
  EXPECT_NE(error_of("\"n\":16", "\"n\":-1").find("FILE:1"), std::string::npos);
  EXPECT_NE(error_of("\"n\":16", "\"m\":16").find("FILE:1"), std::string::npos);
  EXPECT_NE(error_of("\"stride\":1", "\"stride\":0").find("FILE:1"), std::string::npos);
  EXPECT_NE(error_of("}", "").find("FILE:1"), std::string::npos);
  EXPECT_FALSE(parse_convolutions("", "FILE"));
}

// Three in ten are not transformed.
TEST(PlanWorkspaces, MuchLargerWorkspacesMustBeNearlyCertain) {
  const ConvolutionChoices unsure = learned(3);
  const ConvolutionGeometry large = image_of(800, 800, 3, 24);
  const double transform = formula_mib(large, {}, 16, WorkspaceFormula::ForwardTransform);
  EXPECT_EQ(planned_forward(unsure, {large}, 0.0), 0.0);
  EXPECT_NEAR(planned_forward(unsure, {large}, 0.02), transform, 1.0);
  EXPECT_NEAR(planned_forward(learned(0), {large}, 0.0), transform, 1.0);
}

TEST(PlanWorkspaces, OfManyUncertainConvolutionsOneIsLarge) {
  const ConvolutionChoices unsure = learned(3);
  std::vector<ConvolutionGeometry> many;
  many.reserve(8);
  for (std::int64_t channels = 801; channels < 809; ++channels) {
    many.push_back(image_of(channels, channels, 3, 24));
  }
  EXPECT_GT(planned_forward(unsure, many, 0.0),
            formula_mib(image_of(800, 800, 3, 24), {}, 16, WorkspaceFormula::ForwardTransform));
}

TEST(ChoiceTree, MustBeATree) {
  const ChoiceTree::Node leaf{.choice = {.expected = 1}};
  EXPECT_TRUE(ChoiceTree::of({leaf}, 2, 3));
  EXPECT_TRUE(ChoiceTree::of({{.input = 1, .skip = 2}, leaf, leaf}, 2, 3));
  EXPECT_FALSE(ChoiceTree::of({}, 2, 3));
  EXPECT_FALSE(ChoiceTree::of({{.choice = {.expected = 3}}}, 2, 3));
  EXPECT_FALSE(ChoiceTree::of({{.input = 2, .skip = 2}, leaf, leaf}, 2, 3));
  EXPECT_FALSE(ChoiceTree::of({{.input = 1, .skip = 3}, leaf, leaf}, 2, 3));
  EXPECT_FALSE(ChoiceTree::of({{.input = 1, .skip = 1}, leaf, leaf}, 2, 3));
  EXPECT_FALSE(ChoiceTree::of({{.choice = {.larger = {.answer = 0, .share = 1.5}}}}, 2, 3));
}

}  // namespace
}  // namespace carpool::estimate
