// Workspaces of cuDNN's algorithms for a convolution. Internal to estimate/.
//
// Derived from 15,986 convolutions on an H200 (data/memory-collected/convolutions.jsonl.gz,
// PyTorch 2.11, cuDNN 9): for nearly all of them one of these formulas gives the bytes.
// n: batch; c, f: channels of input and output; g: groups; k: side of the kernel; b: bytes of an
// element; P: the power of two, at least 16, that holds image and kernel; h: side of the output.
// I, O, W: bytes of input, output and weight, channels rounded up to the multiple that tensor cores
// need (8 of 16 bits, 4 of 32; not in strict fp32). K: I + O + W with the channels last, else 0, as
// 32-bit algorithms that need contiguous images copy them first. A formula gives 0 where there is
// no such algorithm: transforms and Winograd need more than one channel per group.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/described_job.hpp"
#include "estimate/cudnn/convolution_geometry.hpp"

namespace carpool::estimate {

enum class WorkspaceFormula : std::uint8_t {
  None,
  InOut,             // I + O
  Copies,            // I + O + W
  CopiesTwoWeights,  // I + O + 2 W
  Twice,             // 2 (I + O)
  TwiceTwoWeights,   // 2 (I + O + W)
  Weight,            // W
  TwoWeights,        // 2 W
  Padded,            // those of I and O whose channels are rounded up
  PaddedWeight,      // Padded + W
  WeightAnImage,     // n c f k k b / g: partial gradients, one per image
  // Forward, stride 1, P up to 256: max(2 c f / g + 2 n c, 2 n f) P (P / 2 + 1) 8 + W + K
  ForwardTransform,
  // Gradient of the weight, the same: max(2 c f / g, 2 n (c + f)) P (P / 2 + 1) 8 + O + K
  WeightTransform,
  // Gradient of the input, stride 1, k > 1: (c f / g + t n (c + f)) 32 17 8 + K, with t 1 where 32
  // holds image and kernel, else 2
  TiledTransform,
  // The same, other strides: (4 c f / g + n (4 c + f)) 32 17 8 + 2 W + I + O
  StridedTransform,
  // Gradient of the weight, stride 1, k = 3: 36 4 (c f / g + n ceil(h / 4)^2 (c + f)) + K
  Winograd,
  Columns,            // n c k k h h b
  Wide,               // 2 (I + O) + 4 W: copies in 32 bits
  InOutEightWeights,  // I + O + 8 W
  InOutManyWeights,   // I + O + 32 W
  SmallTiles,         // 8 MiB: partial outputs, one per processor
  LargeTiles,         // 16 MiB
};
inline constexpr std::size_t kWorkspaceFormulas = 22;

enum class ConvolutionPass : std::uint8_t { Forward, InputGradient, WeightGradient };
inline constexpr std::size_t kConvolutionPasses = 3;

// Whether the pass has an algorithm with this workspace.
[[nodiscard]] bool applies(WorkspaceFormula formula, ConvolutionPass pass);

[[nodiscard]] std::string_view name_of(WorkspaceFormula formula);

// 32 bits without TF32: no tensor cores.
[[nodiscard]] inline bool is_strict_fp32(const TrainingSetup& setup) {
  return setup.precision == Precision::Fp32 && !setup.tf32;
}

// The sizes of a convolution at a batch size, for any formula. Absurd sizes stay finite.
class ConvolutionSizes {
 public:
  ConvolutionSizes(const ConvolutionGeometry& geometry,
                   const TrainingSetup& setup,
                   std::int64_t batch);

  [[nodiscard]] double bytes(WorkspaceFormula formula) const;
  // I + O + W.
  [[nodiscard]] double tensors() const { return in_ + out_ + weight_; }

  // The numbers that the choice of an algorithm may depend on.
  static constexpr std::size_t kInputs = 20;
  [[nodiscard]] std::array<double, kInputs> inputs() const;

 private:
  [[nodiscard]] double transform(double images, double beside) const;
  [[nodiscard]] double tiled(double tiles, double beside) const;

  double batch_;
  double channels_;
  double filters_;
  double groups_;
  double kernel_;  // 0: unknown
  double stride_;
  double side_;        // the longer side of the input
  double in_pixels_;   // of one image
  double out_pixels_;  // of one image
  double tiles_;       // of 4 x 4 pixels of the output
  double element_;     // bytes
  double in_;          // I
  double out_;         // O
  double weight_;      // W
  double padded_;
  double contiguous_;  // K
  bool autotuned_;
  bool half_;  // fp16, not bf16
};

}  // namespace carpool::estimate
