#include "estimate/layers/layer_rules.hpp"

#include <array>
#include <cstddef>

namespace carpool::estimate {
namespace {

struct NamedRule {
  std::string_view type{};
  LayerRule rule = LayerRule::Copy;
};

// From PyTorch's derivatives and the saved tensors of the measured models of data/memory-h200.
constexpr auto kNamed = std::to_array<NamedRule>({
    {"Identity", LayerRule::Pass},
    {"Flatten", LayerRule::Pass},
    {"Flat", LayerRule::Pass},
    {"Permute", LayerRule::Pass},
    {"SwapAxes", LayerRule::Pass},
    {"Sequential", LayerRule::Pass},
    {"Dropout", LayerRule::Pass},  // in a layer list it has p = 0 or is in eval mode
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
    {"GlobalResponseNorm", LayerRule::ResponseNorm},
    {"ReLU", LayerRule::OverwritesInput},  // in place, as in nearly all models
    {"relu", LayerRule::KeepsOutput},      // the function, which makes a new tensor
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
    {"Affine", LayerRule::Scale},
    {"StochasticDepth", LayerRule::Copy},
    {"WindowPartition", LayerRule::Copy},
    {"WindowDepartition", LayerRule::Copy},
    {"RadixSoftmax", LayerRule::Copy},
    {"Upsample", LayerRule::Copy},
    {"Cat", LayerRule::Copy},
});

// A layer list has hundreds of names to look up, so the table is hashed by length and three letters
// of the name.
class RuleTable {
 public:
  constexpr RuleTable() {
    for (const NamedRule& entry : kNamed) {
      std::size_t slot = slot_of(entry.type);
      while (!slots_[slot].type.empty()) {
        slot = (slot + 1) % kSlots;
      }
      slots_[slot] = entry;
    }
  }

  // Null: unknown name.
  [[nodiscard]] constexpr const NamedRule* find(std::string_view type) const {
    if (type.empty()) {
      return nullptr;
    }
    for (std::size_t slot = slot_of(type); !slots_[slot].type.empty(); slot = (slot + 1) % kSlots) {
      if (slots_[slot].type == type) {
        return &slots_[slot];
      }
    }
    return nullptr;
  }

 private:
  static constexpr std::size_t kSlots = 256;
  static_assert(kNamed.size() < kSlots / 2);  // free slots end every search

  static constexpr std::size_t slot_of(std::string_view type) {
    const auto letter = [type](std::size_t place) {
      return static_cast<std::size_t>(static_cast<unsigned char>(type[place]));
    };
    return (type.size() * 7 + letter(0) * 3 + letter(type.size() / 2) * 29 +
            letter(type.size() - 1) * 7) %
           kSlots;
  }

  std::array<NamedRule, kSlots> slots_{};
};

constexpr RuleTable kRules;

}  // namespace

RuledLayer rule_of_layer(std::string_view type) {
  if (const NamedRule* found = kRules.find(type); found != nullptr) {
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

}  // namespace carpool::estimate
