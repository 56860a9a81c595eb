#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "estimate/layers/layer_rules.hpp"
#include "estimate/readers/layer_summary.hpp"
#include "estimate/readers/module_shapes.hpp"
#include "estimate/readers/text_lines.hpp"
#include "estimate/replay/checked_sizes.hpp"

namespace carpool::estimate {
namespace {

// The connections of the modules are not printed.
constexpr double kWidening = 1.5;
constexpr std::int64_t kMostResolution = 100'000;
constexpr std::size_t kMostModules = 100'000;
constexpr std::int64_t kMostRepeats = 1000;

struct PrintedModule {
  std::string_view type;
  std::string_view arguments;
  std::optional<std::int64_t> parameters{};  // printed after it: ", 590592 params"
};

class PrintReader {
 public:
  // False: too many modules.
  bool take(std::string_view line) {
    const std::string_view text = trimmed(line);
    if (text.starts_with(')')) {
      return close();
    }
    const std::size_t colon = text.starts_with('(') ? text.find("): ") : std::string_view::npos;
    std::string_view module = colon == std::string_view::npos ? text : text.substr(colon + 3);
    const std::int64_t repeats = leading_repeats(module);
    const std::string_view type = leading_name(module);
    if (type.empty() || type.size() >= module.size() || module[type.size()] != '(') {
      return true;
    }
    const std::size_t end = module.rfind(')');
    if (end == std::string_view::npos) {
      open_.push_back({.first = modules_.size(), .repeats = repeats});
      return true;
    }
    const std::size_t begin = type.size() + 1;
    modules_.push_back(
        {.type = type, .arguments = module.substr(begin, std::max(end, begin) - begin)});
    const std::size_t tail = module.find(", ", end);
    if (tail != std::string_view::npos && module.ends_with(" params")) {
      modules_.back().parameters = leading_number(module.substr(tail + 2));
    }
    return repeat(modules_.size() - 1, repeats);
  }

  [[nodiscard]] const std::vector<PrintedModule>& modules() const { return modules_; }

 private:
  struct Open {
    std::size_t first = 0;
    std::int64_t repeats = 1;
  };

  // "12 x BertLayer(": removes the count from the text.
  static std::int64_t leading_repeats(std::string_view& module) {
    const auto count = leading_number(module);
    const std::size_t times_sign = module.find(" x ");
    if (!count || times_sign == std::string_view::npos || times_sign > 10) {
      return 1;
    }
    module.remove_prefix(times_sign + 3);
    return std::clamp<std::int64_t>(*count, 1, kMostRepeats);
  }

  bool close() {
    if (open_.empty()) {
      return true;
    }
    const Open last = open_.back();
    open_.pop_back();
    return repeat(last.first, last.repeats);
  }

  bool repeat(std::size_t first, std::int64_t repeats) {
    const std::size_t count = modules_.size() - first;
    const auto more = static_cast<std::size_t>(repeats - 1);
    if (modules_.size() + count * more > kMostModules) {
      return false;
    }
    modules_.reserve(modules_.size() + count * more);
    for (std::size_t index = 0; index < count * more; ++index) {
      modules_.push_back(modules_[first + index]);
    }
    return true;
  }

  std::vector<PrintedModule> modules_;
  std::vector<Open> open_;
};

}  // namespace

Result<ReadModel> parse_module_print(std::string_view text,
                                     std::string_view name,
                                     const JobSettings& settings) {
  PrintReader printed;
  std::string_view rest = text;
  while (const auto line = next_line(rest)) {
    if (!printed.take(*line)) {
      return invalid_input(fmt::format("{} has more than {} modules", name, kMostModules));
    }
  }
  // Resolutions out of range are refused when the job is described.
  const std::int64_t resolution =
      std::clamp<std::int64_t>(settings.resolution.value_or(kUsualResolution), 1, kMostResolution);
  const std::int64_t tokens = settings.sequence.value_or(kUsualTokens);
  ModuleShapes shapes(resolution, tokens);
  LayerList list;
  std::int64_t norms = 0;
  bool known = false;
  for (const PrintedModule& module : printed.modules()) {
    LayerLine line = shapes.next(module.type, module.arguments);
    line.parameters = module.parameters.value_or(line.parameters);
    list.parameters = plus(list.parameters, line.parameters);
    norms += module.type.starts_with("BatchNorm") ? line.parameters : 0;
    known = known || rule_of_layer(line.type).known;
    list.layers.push_back(std::move(line));
  }
  if (!known) {
    return invalid_input(fmt::format(
        "{} is not a layer summary (torchsummary, torchinfo, print(module)), trace, ONNX file or "
        "config.json",
        name));
  }
  list.buffers = times(norms, 4);
  list.input_elements = shapes.input_elements();
  ReadModel read{.model = {.name = std::string(name), .family = "layers"}, .widening = kWidening};
  read.notes.push_back(
      shapes.images()
          ? fmt::format("shapes are inferred from the modules in order, for {} pixels per side",
                        resolution)
          : fmt::format("shapes are inferred from the modules in order, for {} tokens", tokens));
  read.model.shape = std::move(list);
  return read;
}

}  // namespace carpool::estimate
