#include "knowledge/pairs/pair_table.hpp"

#include <gtest/gtest.h>

#include "knowledge/activity_interference.hpp"

namespace carpool::knowledge {
namespace {

const std::filesystem::path pair_folder =
    std::filesystem::path(CARPOOL_SOURCE_DIR) / "data/carma-traces";
constexpr const char* kVgg = "vgg16_imagenet_bs64_1gpu";
constexpr const char* kResnet = "resnet50_imagenet_bs64_1gpu";
constexpr const char* kLight = "mobilenet_cifar100_bs64_20e_1gpu";

std::unique_ptr<PairTable> table(double contention = 1.0) {
  auto loaded = PairTable::load(pair_folder, contention);
  EXPECT_TRUE(loaded.has_value()) << (loaded ? "" : loaded.error().message);
  return std::move(*loaded);
}

std::vector<double> together(const InterferenceModel& model,
                             const std::vector<std::string>& names) {
  std::vector<InterferenceMember> group;
  group.reserve(names.size());
  for (const std::string& name : names) {
    group.push_back({.workload = name});
  }
  return model.progress(group);
}

TEST(PairCosts, CountOnlyTheTimeInWhichBothRan) {
  // a needs 150 s instead of 100 s beside b, which then runs solo for its last 100 s.
  const PairCosts costs = costs_while_both_ran(
      {.solo_a_s = 100.0, .solo_b_s = 200.0, .beside_a_s = 150.0, .beside_b_s = 250.0});
  EXPECT_NEAR(1.0 / (1.0 + costs.a), 100.0 / 150.0, 1e-12);
  EXPECT_NEAR(1.0 / (1.0 + costs.b), 100.0 / 150.0, 1e-12);
}

TEST(PairFit, FindsPressureAndSensitivity) {
  const std::vector<double> activity = {0.9, 0.3, 0.6};
  const std::vector<double> pressure = {1.5, 0.2, 0.7};
  const std::vector<double> sensitivity = {0.3, 0.5, 0.8};
  std::vector<PairCost> costs;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      if (i != j) {
        costs.push_back({.slowed = i, .by = j, .cost = sensitivity[i] * pressure[j]});
      }
    }
  }
  const PairEffects effects = fit_pair_effects(costs, activity);
  for (const PairCost& cost : costs) {
    EXPECT_NEAR(effects.sensitivity[cost.slowed] * effects.pressure[cost.by], cost.cost, 0.1);
  }
  EXPECT_GT(effects.exponent, 0.0);
}

TEST(PairTable, GivesMeasuredPairsAsTheyWereMeasured) {
  const auto shares = together(*table(), {kResnet, kVgg});
  // 322.18 s beside VGG, which ended after 264.26 s; 175.52 s solo.
  EXPECT_NEAR(shares[0], (175.52 - (322.18 - 264.26)) / 264.26, 1e-3);
  EXPECT_NEAR(shares[1], 227.42 / 264.26, 1e-3);
}

TEST(PairTable, EachFurtherMemberSlowsTheGroupDown) {
  const auto model = table();
  const auto pair = together(*model, {kVgg, kResnet});
  const auto triple = together(*model, {kVgg, kResnet, kLight});
  EXPECT_EQ(together(*model, {kVgg}), std::vector<double>{1.0});
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_LT(triple[i], pair[i]);
    EXPECT_GT(triple[i], 0.0);
  }
  EXPECT_GT(together(*model, {kLight, kLight})[0], 0.9);
  EXPECT_LT(together(*model, {kVgg, kVgg})[0], 0.75);
}

TEST(PairTable, KnowsTheSameWorkloadByAllItsNames) {
  const auto model = table();
  EXPECT_EQ(together(*model, {"vgg2", kResnet}), together(*model, {kVgg, kResnet}));
  EXPECT_TRUE(model->knows("resnet18_cifar100_20e_1"));
  EXPECT_FALSE(model->knows("unknown"));
}

TEST(PairTable, AssumesThatUnknownWorkloadsAreBusy) {
  const auto model = table();
  const auto shares = together(*model, {"unknown", "another"});
  EXPECT_LT(shares[0], 0.95);
  EXPECT_GT(shares[0], 0.3);
}

TEST(PairTable, AnswersTheSameWhenBound) {
  const auto model = table(1.9);
  const std::vector<std::string> names = {kVgg, kResnet, kLight, "unknown"};
  const auto bound = model->bind(std::span(names).first(3));
  bound->add(names[3]);
  std::vector<double> shares(4);
  bound->progress(std::vector<std::uint32_t>{0, 1, 2, 3}, shares);
  EXPECT_EQ(shares, together(*model, names));
}

TEST(PairTable, SaysWhichFileIsMissing) {
  const auto nothing = PairTable::load(pair_folder / "nowhere", 1.0);
  ASSERT_FALSE(nothing.has_value());
  EXPECT_NE(nothing.error().message.find("aegis_workloads.csv"), std::string::npos);
}

TEST(PairNames, LeaveOutEpochsAndGpus) {
  EXPECT_EQ(pair_name("resnet18_cifar100_bs32_20e_1gpu"), "resnet18_cifar100_bs32");
  EXPECT_EQ(pair_name("llama3_width_8layer_wiki_bs1_1gpu"), "llama3_width_8layer_bs1");
  EXPECT_EQ(pair_name("unet_voc_10e"), "unet_voc");
}

TEST(ActivityInterference, SharesWhatThereIs) {
  const ActivityInterference model({{"half", 0.5}, {"all", 1.0}});
  EXPECT_EQ(together(model, {"half", "half"}), (std::vector<double>{1.0, 1.0}));
  EXPECT_NEAR(together(model, {"half", "all"})[0], 1.0 / 1.5, 1e-12);
  EXPECT_EQ(together(model, {"all"}), std::vector<double>{1.0});
  EXPECT_NEAR(together(model, {"?", "??"})[1], 1.0 / 1.4, 1e-12);
  const std::vector<std::string> names = {"half"};
  const auto bound = model.bind(names);
  bound->add("all");
  std::vector<double> shares(2);
  bound->progress(std::vector<std::uint32_t>{1, 0}, shares);
  EXPECT_EQ(shares, together(model, {"all", "half"}));
}

}  // namespace
}  // namespace carpool::knowledge
