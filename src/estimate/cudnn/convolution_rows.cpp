#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/json_integer.hpp"
#include "base/text/memory_size.hpp"
#include "estimate/cudnn/convolution_choices.hpp"
#include "estimate/judge/json_lines.hpp"

namespace carpool::estimate {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostRowExtent = 1'000'000;

Result<TrainingSetup> setup_of(const json& cfg) {
  TrainingSetup setup{.channels_last = integer_from<int>(cfg.at("cl")) != 0};
  setup.autotune = integer_from<int>(cfg.at("bench")) != 0;
  const auto precision = cfg.at("prec").get<std::string>();
  if (precision == "bf16" || precision == "fp16") {
    setup.precision = precision == "bf16" ? Precision::Bf16 : Precision::Fp16;
  } else if (precision == "fp32" || precision == "tf32") {
    setup.precision = Precision::Fp32;
    setup.tf32 = precision == "tf32";
  } else {
    return invalid_input(
        fmt::format("\"prec\" is \"{}\"; it must be fp32, tf32, bf16 or fp16", precision));
  }
  return setup;
}

Result<std::int64_t> extent(const json& cfg, const char* key, std::int64_t least) {
  const auto value = integer_from<std::int64_t>(cfg.at(key));
  if (value < least || value > kMostRowExtent) {
    return invalid_input(
        fmt::format("\"{}\" is {}; it must be from {} to {}", key, value, least, kMostRowExtent));
  }
  return value;
}

Result<MeasuredConvolution> read_one(const json& row) {
  const json& cfg = row.at("cfg");
  const auto setup = setup_of(cfg);
  if (!setup) {
    return tl::unexpected(setup.error());
  }
  std::array<std::int64_t, 8> sizes{};
  constexpr std::array<const char*, 8> kKeys = {
      "n", "cin", "cout", "k", "stride", "size", "groups", "pad"};
  for (std::size_t index = 0; index < kKeys.size(); ++index) {
    const auto value = extent(cfg, kKeys[index], index + 1 == kKeys.size() ? 0 : 1);
    if (!value) {
      return tl::unexpected(value.error());
    }
    sizes[index] = *value;
  }
  const auto [batch, channels, filters, kernel, stride, side, groups, padding] = sizes;
  const std::int64_t out = (side + 2 * padding - kernel) / stride + 1;
  MeasuredConvolution one{.geometry = {.in = {.channels = channels, .height = side, .width = side},
                                       .out = {.channels = filters, .height = out, .width = out},
                                       .kernel = kernel,
                                       .groups = groups},
                          .setup = *setup,
                          .batch = batch};
  constexpr std::array<const char*, kConvolutionPasses> kPassKeys = {
      "forward", "input_gradient", "weight_gradient"};
  for (std::size_t pass = 0; pass < kConvolutionPasses; ++pass) {
    for (std::size_t time = 0; time < 2; ++time) {
      const auto mib = row.at(kPassKeys[pass]).at(time).get<double>();
      if (!(mib >= 0.0 && mib <= 1e9)) {
        return invalid_input(fmt::format("{} MiB is not a size of memory", mib));
      }
      one.taken[pass][time] = mib * kMiB;
    }
  }
  return one;
}

}  // namespace

Result<std::vector<MeasuredConvolution>> parse_convolutions(std::string_view text,
                                                            std::string_view name) {
  std::vector<MeasuredConvolution> all;
  const auto take = [&](const json& row, std::size_t /*number*/) -> Result<void> {
    if (integer_from<int>(row.at("ok")) == 0) {
      return {};  // it ran out of memory
    }
    auto one = read_one(row);
    if (!one) {
      return tl::unexpected(one.error());
    }
    all.push_back(*one);
    return {};
  };
  if (auto read = for_each_line(text, name, "measured convolution", take); !read) {
    return tl::unexpected(read.error());
  }
  if (all.empty()) {
    return invalid_input(fmt::format("{}: no measured convolution", name));
  }
  return all;
}

}  // namespace carpool::estimate
