#include "estimate/cudnn/convolution_workspace.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

#include "base/text/memory_size.hpp"

namespace carpool::estimate {
namespace {

ConvolutionGeometry square(std::int64_t in,
                           std::int64_t out,
                           std::int64_t kernel,
                           std::int64_t side) {
  return {.in = {.channels = in, .height = side, .width = side},
          .out = {.channels = out, .height = side, .width = side},
          .kernel = kernel};
}

TrainingSetup setup_of(Precision precision, bool tf32 = false, bool channels_last = false) {
  return {.precision = precision, .tf32 = tf32, .channels_last = channels_last};
}

double forward_mib(const ConvolutionGeometry& geometry,
                   const TrainingSetup& setup,
                   std::int64_t batch) {
  return static_cast<double>(usual_workspace(geometry, setup, batch).forward) / kMiB;
}

// Measured values are those of data/memory-collected/convolutions.jsonl.gz, in MiB. The allocator
// hands out up to 1 MiB more than was asked for.
TEST(UsualWorkspace, TensorCoresCopyContiguousImages) {
  const TrainingSetup tf32 = setup_of(Precision::Fp32, true);
  EXPECT_NEAR(forward_mib(square(37, 32, 3, 150), tf32, 99), 612.0, 1.1);
  EXPECT_NEAR(forward_mib(square(3, 98, 3, 79), tf32, 129), 320.0, 1.1);
  EXPECT_NEAR(forward_mib(square(51, 51, 3, 244), setup_of(Precision::Bf16), 84), 1068.4, 1.1);
  EXPECT_EQ(forward_mib(square(94, 52, 1, 167), setup_of(Precision::Bf16), 130), 0.0);
}

TEST(UsualWorkspace, WithChannelsLastOnlyPaddedTensorsAreCopied) {
  const TrainingSetup last = setup_of(Precision::Fp32, true, true);
  EXPECT_NEAR(forward_mib(square(43, 156, 5, 181), last, 12), 66.6, 1.1);
  EXPECT_EQ(forward_mib(square(64, 128, 3, 56), last, 32), 0.0);
}

TEST(UsualWorkspace, StrictFp32CopiesToContiguousImages) {
  EXPECT_EQ(forward_mib(square(480, 480, 3, 36), setup_of(Precision::Fp32), 34), 0.0);
  ConvolutionGeometry strided = square(224, 224, 5, 80);
  strided.out.height = strided.out.width = 40;
  EXPECT_NEAR(forward_mib(strided, setup_of(Precision::Fp32, false, true), 29), 204.0, 7.0);
}

TEST(UsualWorkspace, OneChannelPerGroupNeedsNone) {
  ConvolutionGeometry depthwise = square(160, 160, 3, 96);
  depthwise.groups = 160;
  EXPECT_EQ(forward_mib(depthwise, setup_of(Precision::Fp32, true), 2), 0.0);
}

LayerLine line_of(std::int64_t filters, std::int64_t parameters) {
  return {.type = "Conv2d", .shape = {8, filters, 28, 28}, .parameters = parameters};
}

TEST(GeometryOf, TheKernelFollowsFromTheParameters) {
  const ImageSize in{.channels = 64, .height = 56, .width = 56};
  const ConvolutionGeometry plain = geometry_of(line_of(128, 64LL * 128 * 9), in);
  EXPECT_EQ(plain.kernel, 3);
  EXPECT_EQ(plain.groups, 1);
  EXPECT_EQ(geometry_of(line_of(128, 64LL * 128 + 128), in).kernel, 1);  // with a bias
  const ConvolutionGeometry depthwise = geometry_of(line_of(64, 64LL * 25), in);
  EXPECT_EQ(depthwise.kernel, 5);
  EXPECT_EQ(depthwise.groups, 64);
  const ConvolutionGeometry grouped = geometry_of(line_of(128, 128LL * 2 * 9), in);
  EXPECT_EQ(grouped.kernel, 3);
  EXPECT_EQ(grouped.groups, 32);
}

TEST(GeometryOf, InconsistentSizesHaveNoKernel) {
  EXPECT_EQ(geometry_of(line_of(128, 12'345), {.channels = 64, .height = 56, .width = 56}).kernel,
            0);
  EXPECT_EQ(geometry_of(line_of(0, 0), {.channels = 64, .height = 56, .width = 56}).kernel, 0);
}

}  // namespace
}  // namespace carpool::estimate
