#include "estimate/layers/hidden_attention.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "estimate/layers/cosine_windows.hpp"

namespace carpool::estimate {
namespace {

LayerLine layer_of(const char* type, std::vector<std::int64_t> shape, std::int64_t parameters = 0) {
  return {.type = type, .shape = std::move(shape), .parameters = parameters};
}

constexpr std::int64_t kVitWidth = 768;

TEST(HiddenAttention, ANormBeforeADropoutHidesAWholeAttention) {
  const std::vector<LayerLine> list = {layer_of("Linear", {8, 197, kVitWidth}),
                                       layer_of("LayerNorm", {8, 197, kVitWidth}),
                                       layer_of("Dropout", {8, 197, kVitWidth})};
  const std::int64_t enough = attention_parameters(kVitWidth);
  EXPECT_EQ(enough, 4 * (kVitWidth * kVitWidth + kVitWidth));
  EXPECT_TRUE(attention_behind(list, 1, enough));
  EXPECT_FALSE(attention_behind(list, 1, enough - 1));
  EXPECT_FALSE(attention_behind(list, 0, enough));
  EXPECT_FALSE(attention_behind(list, 2, enough));
}

// BEiT: the weights of queries, keys and values are used by a function.
TEST(HiddenAttention, ANormBeforeASquareProductHidesTheProjections) {
  const std::int64_t square = kVitWidth * (kVitWidth + 1);
  std::vector<LayerLine> list = {layer_of("LayerNorm", {8, 197, kVitWidth}),
                                 layer_of("Linear", {8, 197, kVitWidth}, square)};
  const std::int64_t enough = projection_parameters(kVitWidth);
  EXPECT_TRUE(projections_before(list, 1, enough));
  EXPECT_FALSE(projections_before(list, 1, enough - 1));
  EXPECT_FALSE(projections_before(list, 0, enough));
  list[1].parameters = 2 * square;
  EXPECT_FALSE(projections_before(list, 1, enough));
}

// The first block of torchvision's swin_v2_t at 224 pixels, and one whose image has to be padded.
std::vector<LayerLine> swin_v2_block(std::int64_t side, std::int64_t width, std::int64_t heads) {
  return {layer_of("Linear", {1, 15, 15, 512}, 1536),
          layer_of("ReLU", {1, 15, 15, 512}),
          layer_of("Linear", {1, 15, 15, heads}, 512 * heads),
          layer_of("LayerNorm", {16, side, side, width}, 2 * width)};
}

TEST(CosineWindows, AreRecognisedByTheirBiases) {
  const NumberSizes half{.parameter = 2, .compute = 2};
  const auto found = cosine_windows(swin_v2_block(56, 96, 3), half);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->width, 96);
  EXPECT_EQ(found->per_sample, 56 * 56 * 96);
  EXPECT_EQ(found->padded, 56 * 56 * 96);
  EXPECT_EQ(found->bias_parameters, 1536 + 512 * 3);
  // Queries, keys, values of 2 bytes; 64 weights a token and head, twice.
  EXPECT_EQ(found->kept, 56 * 56 * (96 * 3 * 2 + 3 * 64 * 2 * 2));
  const auto padded = cosine_windows(swin_v2_block(28, 192, 6), half);
  ASSERT_TRUE(padded);
  EXPECT_EQ(padded->padded, 32 * 32 * 192);
  const auto mixed =
      cosine_windows(swin_v2_block(56, 96, 3), {.parameter = 4, .compute = 2, .autocast = true});
  EXPECT_EQ(mixed->kept, 56 * 56 * (96 * (12 + 2) + 3 * 64 * 8));
}

TEST(CosineWindows, OtherLayersAreNotRecognised) {
  const NumberSizes sizes{};
  std::vector<LayerLine> list = swin_v2_block(56, 96, 3);
  EXPECT_FALSE(cosine_windows(std::span(list).first(3), sizes));
  EXPECT_FALSE(cosine_windows(std::span(list).subspan(1), sizes));
  list[2].shape = {16, 15, 15, 3};
  EXPECT_FALSE(cosine_windows(list, sizes));
  list = swin_v2_block(15, 96, 3);  // could be the bias of one sample
  EXPECT_FALSE(cosine_windows(list, sizes));
  EXPECT_FALSE(cosine_windows({}, sizes));
}

}  // namespace
}  // namespace carpool::estimate
