#include "estimate/layers/layer_rules.hpp"

#include <gtest/gtest.h>

namespace carpool::estimate {
namespace {

TEST(LayerRules, SimilarNamesAreDistinguished) {
  EXPECT_EQ(rule_of_layer("ReLU").rule, LayerRule::OverwritesInput);
  EXPECT_EQ(rule_of_layer("relu").rule, LayerRule::KeepsOutput);
  EXPECT_EQ(rule_of_layer("PReLU").rule, LayerRule::KeepsInputOnce);
  EXPECT_EQ(rule_of_layer("Conv1D").rule, LayerRule::Linear);
  EXPECT_EQ(rule_of_layer("Conv2d").rule, LayerRule::Convolution);
  EXPECT_EQ(rule_of_layer("Dropout").rule, LayerRule::Pass);
  EXPECT_EQ(rule_of_layer("dropout").rule, LayerRule::Dropout);
  EXPECT_TRUE(rule_of_layer("Cat").known);
}

TEST(LayerRules, SomeLayersAreRecognisedByAPartOfTheirName) {
  EXPECT_EQ(rule_of_layer("LlamaRMSNorm").rule, LayerRule::LayerNorm);
  EXPECT_EQ(rule_of_layer("AdaptiveAvgPool2d").rule, LayerRule::Pool);
  EXPECT_EQ(rule_of_layer("MaxPool2d").rule, LayerRule::MaxPool);
  EXPECT_EQ(rule_of_layer("InceptionA").rule, LayerRule::Inception);
}

TEST(LayerRules, UnknownLayersAreCopies) {
  for (const auto* const type : {"", "X", "Conv2D", "Linear2", "BatchNorm9d"}) {
    EXPECT_FALSE(rule_of_layer(type).known) << type;
    EXPECT_EQ(rule_of_layer(type).rule, LayerRule::Copy) << type;
  }
}

}  // namespace
}  // namespace carpool::estimate
