#include "estimate/layer_rules.hpp"

#include <algorithm>
#include <array>

namespace carpool {
namespace {

struct NamedRule {
  std::string_view type;
  LayerRule rule;
};

// From PyTorch's derivatives and the saved tensors of the measured models of data/memory-h200.
constexpr auto kUnsorted = std::to_array<NamedRule>({
    {"Identity", LayerRule::Pass},
    {"Flatten", LayerRule::Pass},
    {"Flat", LayerRule::Pass},
    {"Permute", LayerRule::Pass},
    {"SwapAxes", LayerRule::Pass},
    {"Sequential", LayerRule::Pass},
    {"Dropout", LayerRule::Pass},  // in a list of layers it stands with p = 0 or in eval mode
    {"Dropout2d", LayerRule::Pass},
    {"Linear", LayerRule::Linear},
    {"Conv1D", LayerRule::Linear},
    {"Conv2d", LayerRule::Convolution},
    {"Conv2dSame", LayerRule::Convolution},
    {"ScaledStdConv2d", LayerRule::Convolution},
    {"ConvTranspose2d", LayerRule::Convolution},
    {"BatchNorm1d", LayerRule::BatchNorm},
    {"BatchNorm2d", LayerRule::BatchNorm},
    {"BatchNormAct2d", LayerRule::BatchNorm},
    {"LayerNorm", LayerRule::LayerNorm},
    {"LayerNorm2d", LayerRule::LayerNorm},
    {"GroupNorm", LayerRule::LayerNorm},
    {"GroupNorm1", LayerRule::LayerNorm},
    {"GlobalResponseNorm", LayerRule::LayerNorm},
    {"ReLU", LayerRule::OverwritesInput},  // as nearly all models have it: in place
    {"relu", LayerRule::KeepsOutput},      // the function makes a new tensor
    {"dropout", LayerRule::Dropout},
    {"Tanh", LayerRule::KeepsOutput},
    {"Sigmoid", LayerRule::KeepsOutput},
    {"Softmax", LayerRule::KeepsOutput},
    {"ReLU6", LayerRule::KeepsInput},
    {"Hardtanh", LayerRule::KeepsInput},
    {"GELU", LayerRule::KeepsInput},
    {"GELUTanh", LayerRule::KeepsInput},
    {"GELUActivation", LayerRule::KeepsInput},
    {"SiLU", LayerRule::KeepsInput},
    {"Mish", LayerRule::KeepsInput},
    {"ELU", LayerRule::KeepsInput},
    {"SELU", LayerRule::KeepsInput},
    {"LeakyReLU", LayerRule::KeepsInput},
    {"Softplus", LayerRule::KeepsInput},
    {"Hardswish", LayerRule::KeepsInput},
    {"Hardsigmoid", LayerRule::KeepsInput},
    {"PReLU", LayerRule::KeepsInputOnce},
    {"Scale", LayerRule::Scale},
    {"StochasticDepth", LayerRule::Copy},
    {"WindowPartition", LayerRule::Copy},
    {"WindowDepartition", LayerRule::Copy},
    {"RadixSoftmax", LayerRule::Copy},
    {"Upsample", LayerRule::Copy},
    {"Cat", LayerRule::Copy},
});

constexpr auto kRules = [] {
  auto sorted = kUnsorted;
  std::ranges::sort(sorted, {}, &NamedRule::type);
  return sorted;
}();

}  // namespace

RuledLayer rule_of_layer(std::string_view type) {
  const auto* const found = std::ranges::lower_bound(kRules, type, {}, &NamedRule::type);
  if (found != kRules.end() && found->type == type) {
    return {.rule = found->rule, .known = true};
  }
  constexpr std::size_t kInceptionName = std::string_view("InceptionA").size();
  if (type.starts_with("Inception") && type.size() == kInceptionName) {
    return {.rule = LayerRule::Inception, .known = true};
  }
  if (type.find("RMSNorm") != std::string_view::npos) {
    return {.rule = LayerRule::LayerNorm, .known = true};
  }
  if (type.find("Pool") != std::string_view::npos) {
    return {
        .rule = type.find("Max") != std::string_view::npos ? LayerRule::MaxPool : LayerRule::Pool,
        .known = true};
  }
  if (type.starts_with("LayerScale")) {
    return {.rule = LayerRule::Scale, .known = true};
  }
  return {};
}

}  // namespace carpool
