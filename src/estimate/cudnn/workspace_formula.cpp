#include "estimate/cudnn/workspace_formula.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/text/memory_size.hpp"
#include "estimate/replay/training_run.hpp"

namespace carpool::estimate {
namespace {

constexpr std::array<std::string_view, kWorkspaceFormulas> kNames = {"none",
                                                                     "in out",
                                                                     "copies",
                                                                     "copies, two weights",
                                                                     "twice",
                                                                     "twice, two weights",
                                                                     "weight",
                                                                     "two weights",
                                                                     "padded",
                                                                     "padded, weight",
                                                                     "weight an image",
                                                                     "forward transform",
                                                                     "weight transform",
                                                                     "tiled transform",
                                                                     "strided transform",
                                                                     "winograd",
                                                                     "columns",
                                                                     "wide",
                                                                     "in out, eight weights",
                                                                     "in out, many weights",
                                                                     "small tiles",
                                                                     "large tiles"};

constexpr double kComplex = 8.0;                   // bytes
constexpr double kTilePlane = 32 * 17 * kComplex;  // bytes of a transformed tile
constexpr double kLeastTransform = 16.0;           // pixels of a side
constexpr double kLargestTransform = 256.0;

double rounded(double channels, double step) {
  return std::ceil(channels / step) * step;
}

double channel_step(const TrainingSetup& setup) {
  if (is_strict_fp32(setup)) {
    return 1.0;
  }
  return setup.precision == Precision::Fp32 ? 4.0 : 8.0;
}

// The largest power of two that divides the number of channels, up to 64.
double alignment(double channels) {
  const auto whole = static_cast<std::uint64_t>(std::min(channels, 1e15));
  return whole == 0 ? 1.0 : static_cast<double>(1U << std::min(std::countr_zero(whole), 6));
}

double at_least_one(std::int64_t value) {
  return static_cast<double>(std::max<std::int64_t>(value, 1));
}

}  // namespace

bool applies(WorkspaceFormula formula, ConvolutionPass pass) {
  switch (formula) {
    case WorkspaceFormula::ForwardTransform:
      return pass == ConvolutionPass::Forward;
    case WorkspaceFormula::TiledTransform:
    case WorkspaceFormula::StridedTransform:
      return pass == ConvolutionPass::InputGradient;
    case WorkspaceFormula::WeightTransform:
    case WorkspaceFormula::Winograd:
      return pass == ConvolutionPass::WeightGradient;
    default:
      return true;
  }
}

std::string_view name_of(WorkspaceFormula formula) {
  return kNames[static_cast<std::size_t>(formula)];
}

ConvolutionSizes::ConvolutionSizes(const ConvolutionGeometry& geometry,
                                   const TrainingSetup& setup,
                                   std::int64_t batch)
    : batch_(at_least_one(batch)),
      channels_(at_least_one(geometry.in.channels)),
      filters_(at_least_one(geometry.out.channels)),
      groups_(at_least_one(geometry.groups)),
      kernel_(static_cast<double>(geometry.kernel)),
      side_(at_least_one(std::max(geometry.in.height, geometry.in.width))),
      in_pixels_(at_least_one(geometry.in.height) * at_least_one(geometry.in.width)),
      out_pixels_(at_least_one(geometry.out.height) * at_least_one(geometry.out.width)),
      tiles_(std::ceil(at_least_one(geometry.out.height) / 4.0) *
             std::ceil(at_least_one(geometry.out.width) / 4.0)),
      element_(sizes_of(setup.precision).compute),
      autotuned_(setup.autotune),
      half_(setup.precision == Precision::Fp16 || setup.precision == Precision::AmpFp16) {
  const double out_side = at_least_one(std::max(geometry.out.height, geometry.out.width));
  stride_ = std::max(1.0, std::round(side_ / out_side));
  const double step = channel_step(setup);
  const double in_channels = rounded(channels_, step);
  const double out_channels = rounded(filters_, step);
  in_ = batch_ * in_channels * in_pixels_ * element_;
  out_ = batch_ * out_channels * out_pixels_ * element_;
  weight_ = std::ceil(in_channels / groups_) * out_channels * kernel_ * kernel_ * element_;
  padded_ = (in_channels == channels_ ? 0.0 : in_) + (out_channels == filters_ ? 0.0 : out_);
  contiguous_ = setup.channels_last ? tensors() : 0.0;
}

// Transforms of whole images, and the bytes besides them.
double ConvolutionSizes::transform(double images, double beside) const {
  const double along = std::max(side_ + kernel_ - 1.0, kLeastTransform);
  if (stride_ > 1.0 || along > kLargestTransform || groups_ > 1.0 ||
      (kernel_ < 2.0 && !autotuned_)) {
    return 0.0;
  }
  const double side = std::exp2(std::ceil(std::log2(along)));
  return images * side * (side / 2.0 + 1.0) * kComplex + beside;
}

double ConvolutionSizes::tiled(double tiles, double beside) const {
  return kernel_ < 2.0 || groups_ > 1.0 ? 0.0 : tiles * kTilePlane + beside;
}

double ConvolutionSizes::bytes(WorkspaceFormula formula) const {
  using enum WorkspaceFormula;
  const double pairs = channels_ * filters_ / groups_;
  const double both = batch_ * (channels_ + filters_);
  switch (formula) {
    case None:
      return 0.0;
    case InOut:
      return in_ + out_;
    case Copies:
      return tensors();
    case CopiesTwoWeights:
      return tensors() + weight_;
    case Twice:
      return 2.0 * (in_ + out_);
    case TwiceTwoWeights:
      return 2.0 * tensors();
    case Weight:
      return weight_;
    case TwoWeights:
      return 2.0 * weight_;
    case Padded:
      return padded_;
    case PaddedWeight:
      return padded_ + weight_;
    case WeightAnImage:
      return batch_ * pairs * kernel_ * kernel_ * element_;
    case ForwardTransform:
      return transform(2.0 * std::max(pairs + batch_ * channels_, batch_ * filters_),
                       weight_ + contiguous_);
    case WeightTransform:
      return transform(2.0 * std::max(pairs, both), out_ + contiguous_);
    case TiledTransform: {
      const double tiles = side_ + kernel_ - 1.0 <= 32.0 ? 1.0 : 2.0;
      return stride_ > 1.0 ? 0.0 : tiled(pairs + tiles * both, contiguous_);
    }
    case StridedTransform:
      return stride_ > 1.0
                 ? tiled(4.0 * pairs + batch_ * (4.0 * channels_ + filters_), tensors() + weight_)
                 : 0.0;
    case Winograd:
      return kernel_ == 3.0 && stride_ == 1.0 && channels_ > groups_
                 ? 36.0 * 4.0 * (pairs + tiles_ * both) + contiguous_
                 : 0.0;
    case Columns:
      return batch_ * channels_ * kernel_ * kernel_ * out_pixels_ * element_;
    case Wide:
      return 2.0 * (in_ + out_) + 4.0 * weight_;
    case InOutEightWeights:
      return in_ + out_ + 8.0 * weight_;
    case InOutManyWeights:
      return in_ + out_ + 32.0 * weight_;
    case SmallTiles:
      return 8.0 * kMiB;
    case LargeTiles:
      return 16.0 * kMiB;
  }
  return 0.0;
}

std::array<double, ConvolutionSizes::kInputs> ConvolutionSizes::inputs() const {
  const double area = kernel_ * kernel_;
  const double pairs = channels_ * filters_ / groups_;
  return {batch_,
          channels_,
          filters_,
          kernel_,
          stride_,
          side_,
          batch_ * out_pixels_,
          batch_ * in_pixels_,
          batch_ * out_pixels_ * pairs * area,
          pairs,
          channels_ / groups_ * area,
          filters_ / groups_ * area,
          channels_ / filters_,
          alignment(channels_),
          alignment(filters_),
          batch_ * channels_ * in_pixels_,
          batch_ * filters_ * out_pixels_,
          groups_,
          channels_ / groups_,
          half_ ? 1.0 : 0.0};
}

}  // namespace carpool::estimate
