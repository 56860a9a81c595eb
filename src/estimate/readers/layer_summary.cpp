#include "estimate/readers/layer_summary.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text/memory_size.hpp"
#include "estimate/layers/layer_rules.hpp"
#include "estimate/readers/text_lines.hpp"
#include "estimate/replay/checked_sizes.hpp"

namespace carpool::estimate {
namespace {

constexpr std::size_t kMostText = 16 * kMiB;
constexpr std::size_t kMostExtents = 8;
// "Input size (MB)": torchsummary counts MiB, torchinfo 10^6 bytes.
constexpr double kTorchinfoMb = 1e6;

struct TableLine {
  LayerLine layer{};
  std::int64_t depth = 0;  // in torchinfo's tree; 0: torchsummary
};

// The numbers of "[32, 64, 112, 112]"; of nested lists those of the first.
std::vector<std::int64_t> extents_of(std::string_view text) {
  std::vector<std::int64_t> extents;
  text.remove_prefix(std::min(text.find_first_not_of("[( "), text.size()));
  while (!text.empty() && extents.size() < kMostExtents) {
    const bool unknown = text.starts_with("-1");  // the batch of torchsummary
    // Here a comma ends a number.
    const auto number = leading_number(text.substr(0, text.find_first_of(",])")));
    if (!unknown && !number) {
      break;
    }
    extents.push_back(unknown ? 1 : *number);
    const std::size_t next = text.find_first_of(",])");
    if (next == std::string_view::npos || text[next] != ',') {
      break;
    }
    text.remove_prefix(next + 1);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  return extents;
}

// "Conv2d-12", "├─Conv2d: 2-1", "Conv2d (conv1): 2-1", then shapes in brackets, then parameters.
std::optional<TableLine> table_line(std::string_view line, std::size_t which_shape) {
  std::size_t start = 0;
  while (start < line.size() && !is_name_character(line[start])) {
    ++start;  // blanks and the branches of the tree
  }
  line.remove_prefix(start);
  const std::string_view type = leading_name(line);
  std::size_t open = line.find('[');
  if (type.empty() || open == std::string_view::npos) {
    return std::nullopt;
  }
  TableLine out{.layer = {.type = std::string(type)}};
  const std::string_view label = line.substr(type.size(), open - type.size());
  if (const std::size_t colon = label.find(": "); colon != std::string_view::npos) {
    out.depth = leading_number(label.substr(colon + 2)).value_or(0);
  } else if (!label.starts_with('-')) {
    return std::nullopt;  // the model itself, or prose
  }
  for (std::size_t passed = 0; passed < which_shape; ++passed) {
    const std::size_t next = line.find('[', line.find(']', open));
    open = next == std::string_view::npos ? open : next;
  }
  out.layer.shape = extents_of(line.substr(open));
  const std::size_t close = line.find(']', open);
  if (out.layer.shape.empty() || close == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view rest = line.substr(close + 1);
  rest.remove_prefix(std::min(rest.find_first_of("0123456789-["), rest.size()));
  out.layer.parameters = leading_number(rest).value_or(0);
  return out;
}

class TableReader {
 public:
  explicit TableReader(std::string_view name) : name_(name) {}

  void take(std::string_view line) {
    if (line.find("Output Shape") != std::string_view::npos) {
      const std::size_t input = line.find("Input Shape");
      which_shape_ = input < line.find("Output Shape") ? 1 : 0;
    } else if (line.starts_with("Total params:")) {
      total_ = number_behind(line);
    } else if (line.starts_with("Trainable params:")) {
      trainable_ = number_behind(line);
    } else if (line.starts_with("Input size (MB):")) {
      input_mb_ = std::strtod(std::string(line.substr(line.find(':') + 1)).c_str(), nullptr);
    } else if (auto found = table_line(line, which_shape_)) {
      lines_.push_back(std::move(*found));
    }
  }

  [[nodiscard]] bool found() const { return !lines_.empty(); }

  [[nodiscard]] ReadModel model() const {
    ReadModel read;
    LayerList list{.batch = std::max<std::int64_t>(lines_.front().layer.shape.front(), 1)};
    std::int64_t norms = 0;
    for (std::size_t index = 0; index < lines_.size(); ++index) {
      const LayerLine& layer = lines_[index].layer;
      if (holds_others(index)) {
        continue;
      }
      list.parameters = plus(list.parameters, layer.parameters);
      norms += layer.type.starts_with("BatchNorm") ? layer.parameters : 0;
      list.layers.push_back(layer);
    }
    list.parameters = std::max(list.parameters, total_);
    list.buffers = times(norms, 4);  // mean and variance, the size of weight and bias
    const bool tree = lines_.front().depth > 0;
    const double samples = static_cast<double>(list.batch);
    const double input =
        input_mb_ * (tree ? kTorchinfoMb : static_cast<double>(kMiB)) / 4.0 / samples;
    constexpr double kMostInput = 1e12;
    list.input_elements = input > 0.0 && input < kMostInput ? std::llround(input) : 0;
    if (list.batch > 1) {
      read.settings.batch = list.batch;
    }
    if (trainable_ > 0 && trainable_ < total_) {
      read.notes.push_back(
          fmt::format("{} frozen parameters are counted as trained", total_ - trainable_));
    }
    read.model.name = name_;
    read.model.family = "layers";
    read.model.shape = std::move(list);
    return read;
  }

 private:
  static std::int64_t number_behind(std::string_view line) {
    return leading_number(trimmed(line.substr(line.find(':') + 1))).value_or(0);
  }

  // Whether the line is a container. In a tree its parts follow one level deeper; in torchsummary
  // they precede it, and it adds neither parameters nor another shape.
  [[nodiscard]] bool holds_others(std::size_t index) const {
    const TableLine& line = lines_[index];
    if (line.depth > 0) {
      return index + 1 < lines_.size() && lines_[index + 1].depth > line.depth;
    }
    return index > 0 && line.layer.parameters == 0 && !rule_of_layer(line.layer.type).known &&
           line.layer.shape == lines_[index - 1].layer.shape;
  }

  std::string_view name_;
  std::size_t which_shape_ = 0;  // index of the output shape in a line
  std::vector<TableLine> lines_;
  std::int64_t total_ = 0;  // 0: not given
  std::int64_t trainable_ = 0;
  double input_mb_ = 0.0;
};

}  // namespace

Result<ReadModel> parse_layer_summary(std::string_view text,
                                      std::string_view name,
                                      const JobSettings& settings) {
  if (text.size() > kMostText) {
    return invalid_input(fmt::format("{} has {} bytes: not a layer summary", name, text.size()));
  }
  TableReader table(name);
  std::string_view rest = text;
  while (const auto line = next_line(rest)) {
    table.take(*line);
  }
  return table.found() ? Result<ReadModel>(table.model())
                       : parse_module_print(text, name, settings);
}

}  // namespace carpool::estimate
