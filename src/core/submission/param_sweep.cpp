#include "core/submission/param_sweep.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace carpool {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestParamName = 64;
constexpr std::size_t kMostParams = 32;
constexpr std::size_t kLongestValue = 4096;

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_param_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestParamName && !(name[0] >= '0' && name[0] <= '9') &&
         std::ranges::all_of(name, is_word_character);
}

Result<void> add_list(ParamLists& lists, const std::string& name, std::vector<std::string> values) {
  if (!is_param_name(name)) {
    return invalid_input(fmt::format(
        "param: \"{}\" is not a name; use letters, digits and _, as in lr=1e-3,1e-4", name));
  }
  for (const auto& [other, ignored] : lists) {
    if (param_variable(other) == param_variable(name)) {
      return invalid_input(fmt::format(
          "param: \"{}\" is given twice; write all its values in one list: {}=1,2", name, name));
    }
  }
  const auto wrong = [](const std::string& value) {
    return value.empty() || value.size() > kLongestValue;
  };
  if (values.empty() || std::ranges::any_of(values, wrong)) {
    return invalid_input(
        fmt::format("param: {}: each value needs 1 to {} characters; write {}=1e-3,1e-4",
                    name,
                    kLongestValue,
                    name));
  }
  if (lists.size() == kMostParams) {
    return invalid_input(fmt::format("param: at most {} parameters are possible", kMostParams));
  }
  lists.emplace(name, std::move(values));
  return {};
}

// A text with each {name} of the parameters replaced, in one pass: values are not read again.
std::string filled(std::string_view text, const Params& params) {
  constexpr std::size_t kLongest = std::size_t{256} << 10U;  // refused later as too long a word
  std::string out;
  while (!text.empty() && out.size() < kLongest) {
    const std::size_t open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) {
      break;
    }
    text.remove_prefix(open);
    const std::size_t close = text.find('}');
    const auto found = close == std::string_view::npos
                           ? params.end()
                           : params.find(std::string(text.substr(1, close - 1)));
    out += found == params.end() ? std::string_view("{") : std::string_view(found->second);
    text.remove_prefix(found == params.end() ? 1 : close + 1);
  }
  return out;
}

Result<std::string> value_text(const std::string& name, const json& value) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
  if (value.is_number() || value.is_boolean()) {
    return value.dump();
  }
  return invalid_input(
      fmt::format("params: {}: expected values or a list of values, as [\"1e-3\", 7]", name));
}

}  // namespace

Result<void> add_param(ParamLists& lists, std::string_view text) {
  const std::size_t sign = text.find('=');
  if (sign == std::string_view::npos) {
    return invalid_input(
        fmt::format("param: \"{}\": expected NAME=VALUE,VALUE, as in lr=1e-3,1e-4", text));
  }
  std::vector<std::string> values;
  std::string_view rest = text.substr(sign + 1);
  while (true) {
    const std::size_t comma = rest.find(',');
    values.emplace_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) {
      break;
    }
    rest.remove_prefix(comma + 1);
  }
  return add_list(lists, std::string(text.substr(0, sign)), std::move(values));
}

Result<ParamLists> read_param_lists(const json& object) {
  if (!object.is_object()) {
    return invalid_input("params: expected names with lists of values");
  }
  ParamLists lists;
  for (const auto& [name, given] : object.items()) {
    std::vector<std::string> values;
    const json list = given.is_array() ? given : json::array({given});
    for (const json& value : list) {
      Result<std::string> text = value_text(name, value);
      if (!text) {
        return tl::unexpected(text.error());
      }
      values.push_back(std::move(*text));
    }
    if (const Result<void> added = add_list(lists, name, std::move(values)); !added) {
      return tl::unexpected(added.error());
    }
  }
  return lists;
}

Result<std::vector<Params>> combinations(const ParamLists& lists, std::size_t most) {
  std::size_t count = 1;
  for (const auto& [name, values] : lists) {
    count *= values.size();
    if (count > most) {
      return invalid_input(fmt::format(
          "param: there are more than {} combinations; submit the sweep in parts", most));
    }
  }
  std::vector<Params> all(1);
  for (const auto& [name, values] : lists) {
    std::vector<Params> longer;
    longer.reserve(all.size() * values.size());
    for (const Params& before : all) {
      for (const std::string& value : values) {
        longer.push_back(before);
        longer.back().emplace(name, value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

Result<void> check_params_used(const ParamLists& lists, const JobSpec& spec) {
  std::vector<std::string_view> words(spec.argv.begin(), spec.argv.end());
  words.insert(words.end(), {spec.name, spec.output, spec.error});
  for (const auto& [name, values] : lists) {
    const std::string place = fmt::format("{{{}}}", name);
    const std::string variable = param_variable(name);
    const auto has_place = [&](std::string_view word) {
      return word.find(place) != std::string_view::npos ||
             word.find(variable) != std::string_view::npos;
    };
    if (std::ranges::none_of(words, has_place)) {
      return invalid_input(fmt::format(
          "param: nothing in the command uses \"{0}\"; write {{{0}}} where its value belongs, as "
          "in "
          "-- python train.py --{0} {{{0}}}. For a program that reads {1}: -- env {1}={{{0}}} "
          "python train.py",
          name,
          variable));
    }
  }
  return {};
}

void apply_params(JobSpec& spec, Params params) {
  for (std::string& word : spec.argv) {
    word = filled(word, params);
  }
  for (std::string* text : {&spec.name, &spec.output, &spec.error}) {
    *text = filled(*text, params);
  }
  spec.params = std::move(params);
}

std::string param_variable(std::string_view name) {
  std::string variable = "CARPOOL_PARAM_";
  for (const char c : name) {
    variable += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return variable;
}

}  // namespace carpool
