#include "base/text/strict_table.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include "base/text/names.hpp"

namespace carpool {
namespace {

std::size_t line_of_node(const toml::node& node) {
  return node.source().begin.line;
}

std::string spoken_range(double least, double most) {
  if (least == std::numeric_limits<double>::lowest() &&
      most == std::numeric_limits<double>::max()) {
    return "a number";
  }
  return fmt::format("a number from {} to {}", least, most);
}

}  // namespace

const toml::node* StrictTable::take(std::string_view key) {
  asked_.emplace_back(key);
  return problem_ ? nullptr : table_.get(key);
}

void StrictTable::problem_at(std::size_t line, std::string_view what) {
  if (problem_) {
    return;
  }
  std::string shown = fmt::format("{}{}{}", where_, where_.empty() ? "" : " ", what);
  // A key in quotes may hold any character; a message is one line.
  std::ranges::replace_if(
      shown, [](char byte) { return static_cast<unsigned char>(byte) < 0x20U; }, ' ');
  problem_ = Error{ErrorCode::InvalidInput, fmt::format("{}:{}: {}", file_, line, shown)};
}

void StrictTable::wrong_type(const toml::node& node,
                             std::string_view key,
                             std::string_view expected) {
  problem_at(line_of_node(node), fmt::format("{}: expected {}", key, expected));
}

void StrictTable::problem(std::string_view key, std::string_view message) {
  problem_at(line_of(key), fmt::format("{}: {}", key, message));
}

void StrictTable::require(std::string_view key) {
  if (!has(key)) {
    problem(key, "is missing");
  }
}

std::vector<std::string> StrictTable::keys() const {
  std::vector<std::string> names;
  for (const auto& [key, value] : table_) {
    names.emplace_back(key.str());
  }
  return names;
}

bool StrictTable::has(std::string_view key) const {
  return table_.contains(key);
}

bool StrictTable::is_table(std::string_view key) const {
  const toml::node* node = table_.get(key);
  return node != nullptr && node->is_table();
}

// Of the key, since a section begins behind its name.
std::size_t StrictTable::line_of(std::string_view key) const {
  const auto found = table_.find(key);
  return found == table_.end() ? line_of_node(table_) : found->first.source().begin.line;
}

void StrictTable::read(std::string_view key, std::string& value) {
  if (const toml::node* node = take(key)) {
    if (auto text = node->value_exact<std::string>()) {
      value = std::move(*text);
    } else {
      wrong_type(*node, key, "a text in quotes");
    }
  }
}

void StrictTable::read(std::string_view key, bool& value) {
  if (const toml::node* node = take(key)) {
    if (const auto flag = node->value_exact<bool>()) {
      value = *flag;
    } else {
      wrong_type(*node, key, "true or false");
    }
  }
}

std::optional<double> StrictTable::number(const toml::node& node,
                                          std::string_view key,
                                          double least,
                                          double most) {
  const auto value = node.is_number() ? node.value<double>() : std::nullopt;
  if (!value || !(*value >= least && *value <= most)) {
    wrong_type(node, key, spoken_range(least, most));
    return std::nullopt;
  }
  return value;
}

void StrictTable::read(std::string_view key, double& value, double least, double most) {
  if (const toml::node* node = take(key)) {
    value = number(*node, key, least, most).value_or(value);
  }
}

std::optional<std::int64_t> StrictTable::whole_number(std::string_view key,
                                                      std::int64_t least,
                                                      std::int64_t most) {
  const toml::node* node = take(key);
  if (node == nullptr) {
    return std::nullopt;
  }
  const auto value = node->value_exact<std::int64_t>();
  if (!value || *value < least || *value > most) {
    wrong_type(*node, key, fmt::format("a whole number from {} to {}", least, most));
    return std::nullopt;
  }
  return value;
}

void StrictTable::read(std::string_view key, std::vector<std::string>& values) {
  const toml::node* node = take(key);
  if (node == nullptr) {
    return;
  }
  const toml::array* list = node->as_array();
  if (list == nullptr) {
    wrong_type(*node, key, "a list of texts");
    return;
  }
  for (const toml::node& entry : *list) {
    if (auto text = entry.value_exact<std::string>()) {
      values.push_back(std::move(*text));
    } else {
      wrong_type(entry, key, "a list of texts");
    }
  }
}

void StrictTable::read(std::string_view key, std::vector<bool>& values) {
  const toml::node* node = take(key);
  if (node == nullptr) {
    return;
  }
  const toml::array* list = node->as_array();
  if (list == nullptr || !std::all_of(list->begin(), list->end(), [](const toml::node& entry) {
        return entry.is_boolean();
      })) {
    wrong_type(*node, key, "a list of true and false");
    return;
  }
  for (const toml::node& entry : *list) {
    values.push_back(entry.value_or(false));
  }
}

void StrictTable::read(std::string_view key, std::vector<std::vector<std::string>>& values) {
  const toml::node* node = take(key);
  if (node == nullptr) {
    return;
  }
  const toml::array* lists = node->as_array();
  if (lists == nullptr) {
    wrong_type(*node, key, "a list of lists of names");
    return;
  }
  for (const toml::node& entry : *lists) {
    const toml::array* list = entry.as_array();
    std::vector<std::string>& names = values.emplace_back();
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      names.push_back(list->get(i)->value_exact<std::string>().value_or(""));
    }
    if (names.empty() || std::ranges::count(names, "") > 0) {
      wrong_type(entry, key, "a list of lists of names");
    }
  }
}

void StrictTable::read(std::string_view key,
                       std::vector<std::vector<double>>& values,
                       double least,
                       double most) {
  const toml::node* node = take(key);
  if (node == nullptr) {
    return;
  }
  const toml::array* lists = node->as_array();
  if (lists == nullptr) {
    wrong_type(*node, key, "a list of lists of numbers");
    return;
  }
  for (const toml::node& entry : *lists) {
    const toml::array* list = entry.as_array();
    if (list == nullptr) {
      wrong_type(entry, key, "a list of lists of numbers");
      return;
    }
    std::vector<double>& numbers = values.emplace_back();
    for (const toml::node& value : *list) {
      numbers.push_back(number(value, key, least, most).value_or(least));
    }
  }
}

void StrictTable::read_tables(std::string_view key, const std::function<void(StrictTable&)>& read) {
  const toml::node* node = take(key);
  if (node == nullptr) {
    return;
  }
  const std::string path = path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  const std::string where =
      node->is_array() ? fmt::format("[[{}]]", path) : fmt::format("[{}]", path);
  const auto read_one = [&](const toml::node& entry) {
    const toml::table* table = entry.as_table();
    if (table == nullptr) {
      wrong_type(entry, key, "a section");
    } else if (!problem_) {
      StrictTable inner(*table, file_);
      inner.path_ = path;
      inner.where_ = where;
      read(inner);
      if (const Result<void> done = inner.finish(); !done) {
        problem_ = done.error();
      }
    }
  };
  if (const toml::array* list = node->as_array()) {
    for (const toml::node& entry : *list) {
      read_one(entry);
    }
  } else {
    read_one(*node);
  }
}

Result<void> StrictTable::finish() {
  for (const auto& [key, value] : table_) {
    if (std::ranges::find(asked_, key.str()) != asked_.end()) {
      continue;
    }
    const std::vector<std::string_view> known(asked_.begin(), asked_.end());
    problem_at(key.source().begin.line,
               fmt::format("unknown key \"{}\"{}; known: {}",
                           key.str(),
                           suggestion(key.str(), known),
                           fmt::join(known, ", ")));
  }
  return problem_ ? Result<void>(tl::unexpected(*problem_)) : Result<void>();
}

Result<void> read_toml(std::string_view text,
                       const std::string& file,
                       const std::function<void(StrictTable&)>& read) {
  try {
    const toml::table root = toml::parse(text);
    StrictTable table(root, file);
    read(table);
    return table.finish();
  } catch (const toml::parse_error& problem) {
    return invalid_input(
        fmt::format("{}:{}: {}", file, problem.source().begin.line, problem.description()));
  } catch (const std::exception& problem) {
    return invalid_input(fmt::format("{}: {}", file, problem.what()));
  }
}

}  // namespace carpool
