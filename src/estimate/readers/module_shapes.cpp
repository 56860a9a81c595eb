#include "estimate/readers/module_shapes.hpp"

#include <algorithm>

#include "estimate/readers/text_lines.hpp"
#include "estimate/replay/checked_sizes.hpp"

namespace carpool::estimate {
namespace {

constexpr std::int64_t kMostModuleExtent = 1'000'000'000;

std::optional<std::int64_t> bounded(std::optional<std::int64_t> value) {
  return value && *value <= kMostModuleExtent ? value : std::nullopt;
}

// (in + 2 padding - dilation (kernel - 1) - 1) / stride + 1, see PyTorch's Conv2d.
std::int64_t slid(std::int64_t side, std::string_view arguments) {
  const std::int64_t kernel = argument(arguments, "kernel_size").value_or(1);
  const std::int64_t stride = std::max<std::int64_t>(argument(arguments, "stride").value_or(1), 1);
  const std::int64_t padding = argument(arguments, "padding").value_or(0);
  const std::int64_t dilation = argument(arguments, "dilation").value_or(1);
  return std::max<std::int64_t>((side + 2 * padding - times(dilation, kernel - 1) - 1) / stride + 1,
                                1);
}

}  // namespace

std::optional<std::int64_t> argument(std::string_view arguments, std::string_view name) {
  std::size_t at = arguments.find(name);
  while (at != std::string_view::npos) {
    const bool whole = at == 0 || !is_name_character(arguments[at - 1]);
    const std::string_view rest = arguments.substr(at + name.size());
    if (whole && rest.starts_with('=')) {
      const std::string_view value = rest.substr(rest.starts_with("=(") ? 2 : 1);
      return bounded(leading_number(value.substr(0, value.find_first_of(",) "))));
    }
    at = arguments.find(name, at + 1);
  }
  return std::nullopt;
}

std::optional<std::int64_t> argument(std::string_view arguments, std::size_t place) {
  for (std::size_t passed = 0; passed < place; ++passed) {
    const std::size_t comma = arguments.find(',');
    if (comma == std::string_view::npos) {
      return std::nullopt;
    }
    arguments.remove_prefix(comma + 1);
  }
  arguments.remove_prefix(std::min(arguments.find_first_not_of(" ("), arguments.size()));
  return bounded(leading_number(arguments.substr(0, arguments.find_first_of(",) "))));
}

LayerLine ModuleShapes::next(std::string_view type, std::string_view arguments) {
  LayerLine line{.type = std::string(type)};
  const bool bias = arguments.find("bias=False") == std::string_view::npos;
  if (type.starts_with("Conv2d") || type.starts_with("ConvTranspose2d")) {
    line.parameters = convolve(type, arguments);
  } else if (type == "Linear" || type == "NonDynamicallyQuantizableLinear") {
    line.type = "Linear";
    line.parameters = multiply(argument(arguments, "in_features").value_or(1),
                               argument(arguments, "out_features").value_or(1),
                               bias);
  } else if (type == "Conv1D") {
    line.parameters = multiply(
        argument(arguments, "nx").value_or(1), argument(arguments, "nf").value_or(1), bias);
  } else if (type == "Embedding") {
    const std::int64_t width = argument(arguments, 1).value_or(1);
    line.parameters = times(argument(arguments, 0).value_or(1), width);
    shape_ = {tokens_, width};
  } else if (type.find("Norm") != std::string_view::npos) {
    const std::size_t place = type.starts_with("GroupNorm") ? 1 : 0;
    line.parameters = times(argument(arguments, place).value_or(0),
                            type.find("RMSNorm") == std::string_view::npos ? 2 : 1);
  } else if (type.find("Pool") != std::string_view::npos) {
    pool(arguments);
  } else if (type == "Flatten") {
    shape_ = {product(shape_)};
  } else if (type == "Dropout" && arguments.find("p=0.0") == std::string_view::npos) {
    line.type = "dropout";  // with p above 0
  }
  line.shape = {1};
  line.shape.insert(line.shape.end(), shape_.begin(), shape_.end());
  return line;
}

std::int64_t ModuleShapes::convolve(std::string_view type, std::string_view arguments) {
  const std::int64_t in = argument(arguments, 0).value_or(1);
  const std::int64_t out = argument(arguments, 1).value_or(1);
  if (shape_.empty()) {
    input_ = times(in, times(resolution_, resolution_));
    images_ = true;
  }
  if (shape_.size() != 3) {
    shape_ = {in, resolution_, resolution_};
  }
  const std::int64_t kernel = argument(arguments, "kernel_size").value_or(1);
  const std::int64_t groups = std::max<std::int64_t>(argument(arguments, "groups").value_or(1), 1);
  for (std::size_t side : {std::size_t{1}, std::size_t{2}}) {
    shape_[side] = type.starts_with("ConvTranspose2d")
                       ? times(shape_[side], argument(arguments, "stride").value_or(1))
                       : slid(shape_[side], arguments);
  }
  shape_[0] = out;
  const bool bias = arguments.find("bias=False") == std::string_view::npos;
  return plus(times(times(in, out), times(kernel, kernel)) / groups, bias ? out : 0);
}

std::int64_t ModuleShapes::multiply(std::int64_t in, std::int64_t out, bool bias) {
  const std::int64_t all = product(shape_);
  if (shape_.empty()) {
    input_ = in;
    shape_ = {out};
  } else if (all == in || shape_.size() == 1 || shape_.size() == 3) {
    shape_ = {out};  // a classifier after pixels, or a layer after another
  } else {
    shape_.back() = out;
  }
  return plus(times(in, out), bias ? out : 0);
}

void ModuleShapes::pool(std::string_view arguments) {
  if (shape_.size() != 3) {
    return;
  }
  const auto fixed = argument(arguments, "output_size");
  for (std::size_t side : {std::size_t{1}, std::size_t{2}}) {
    shape_[side] = fixed ? std::max<std::int64_t>(*fixed, 1) : slid(shape_[side], arguments);
  }
}

}  // namespace carpool::estimate
