#include "measure/plan_reader.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

namespace carpool::measure {

const toml::node* TableReader::take(std::string_view key) {
  asked_.emplace_back(key);
  return problem_ ? nullptr : table_.get(key);
}

void TableReader::problem_at(const toml::node& node,
                             std::string_view key,
                             std::string_view message) {
  if (!problem_) {
    problem_ = Error{ErrorCode::InvalidInput,
                     fmt::format("{}:{}: {}{}{}: {}",
                                 file_,
                                 node.source().begin.line,
                                 where_,
                                 where_.empty() ? "" : " ",
                                 key,
                                 message)};
  }
}

void TableReader::fail(std::string_view key, std::string_view message) {
  const toml::node* node = table_.get(key);
  problem_at(node != nullptr ? *node : static_cast<const toml::node&>(table_), key, message);
}

void TableReader::text(std::string_view key, std::string& value) {
  if (const toml::node* node = take(key)) {
    if (const auto read = node->value_exact<std::string>()) {
      value = *read;
    } else {
      problem_at(*node, key, "expected a text in quotes");
    }
  }
}

void TableReader::texts(std::string_view key, std::vector<std::string>& values) {
  const toml::node* node = take(key);
  if (node == nullptr) {
    return;
  }
  const toml::array* list = node->as_array();
  if (list == nullptr) {
    problem_at(*node, key, "expected a list of texts");
    return;
  }
  for (const toml::node& entry : *list) {
    if (const auto read = entry.value_exact<std::string>()) {
      values.push_back(*read);
    } else {
      problem_at(entry, key, "expected a list of texts");
    }
  }
}

std::optional<double> TableReader::bounded(const toml::node& node,
                                           std::string_view key,
                                           double least,
                                           double most) {
  const auto read = node.is_number() ? node.value<double>() : std::nullopt;
  if (!read || !(*read >= least && *read <= most)) {
    problem_at(node, key, fmt::format("expected a number from {} to {}", least, most));
    return std::nullopt;
  }
  return read;
}

void TableReader::number(std::string_view key, double& value, double least, double most) {
  if (const toml::node* node = take(key)) {
    value = bounded(*node, key, least, most).value_or(value);
  }
}

void TableReader::optional_number(std::string_view key,
                                  std::optional<double>& value,
                                  double least,
                                  double most) {
  if (const toml::node* node = take(key)) {
    value = bounded(*node, key, least, most);
  }
}

std::optional<std::int64_t> TableReader::whole(std::string_view key,
                                               std::int64_t least,
                                               std::int64_t most) {
  const toml::node* node = take(key);
  if (node == nullptr) {
    return std::nullopt;
  }
  const auto read = node->value_exact<std::int64_t>();
  if (!read || *read < least || *read > most) {
    problem_at(*node, key, fmt::format("expected a whole number from {} to {}", least, most));
    return std::nullopt;
  }
  return read;
}

void TableReader::flags(std::string_view key, std::vector<bool>& values) {
  const toml::node* node = take(key);
  if (node == nullptr) {
    return;
  }
  const toml::array* list = node->as_array();
  if (list == nullptr || !std::all_of(list->begin(), list->end(), [](const toml::node& entry) {
        return entry.is_boolean();
      })) {
    problem_at(*node, key, "expected a list of true and false");
    return;
  }
  for (const toml::node& entry : *list) {
    values.push_back(entry.value_or(false));
  }
}

void TableReader::number_lists(std::string_view key,
                               std::vector<std::vector<double>>& values,
                               double least,
                               double most) {
  const toml::node* node = take(key);
  if (node == nullptr) {
    return;
  }
  const toml::array* lists = node->as_array();
  if (lists == nullptr) {
    problem_at(*node, key, "expected a list of lists of numbers");
    return;
  }
  for (const toml::node& entry : *lists) {
    const toml::array* list = entry.as_array();
    if (list == nullptr) {
      problem_at(entry, key, "expected a list of lists of numbers");
      return;
    }
    std::vector<double>& numbers = values.emplace_back();
    for (const toml::node& value : *list) {
      numbers.push_back(bounded(value, key, least, most).value_or(least));
    }
  }
}

void TableReader::text_lists(std::string_view key, std::vector<std::vector<std::string>>& values) {
  const toml::node* node = take(key);
  if (node == nullptr) {
    return;
  }
  const toml::array* lists = node->as_array();
  if (lists == nullptr) {
    problem_at(*node, key, "expected a list of lists of names");
    return;
  }
  for (const toml::node& entry : *lists) {
    const toml::array* list = entry.as_array();
    std::vector<std::string>& names = values.emplace_back();
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      names.push_back(list->get(i)->value_exact<std::string>().value_or(""));
    }
    if (names.empty() || std::ranges::count(names, "") > 0) {
      problem_at(entry, key, "expected a list of lists of names");
    }
  }
}

void TableReader::tables(std::string_view key,
                         const std::function<Result<void>(const toml::table&)>& read) {
  const toml::node* node = take(key);
  if (node == nullptr) {
    return;
  }
  const auto read_one = [&](const toml::node& entry) {
    const toml::table* table = entry.as_table();
    if (table == nullptr) {
      problem_at(entry, key, "expected a section");
    } else if (!problem_) {
      if (auto done = read(*table); !done) {
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

Result<void> TableReader::finish() {
  for (const auto& [key, value] : table_) {
    if (!problem_ && std::ranges::count(asked_, key.str()) == 0) {
      problem_at(value,
                 fmt::format("\"{}\"", key.str()),
                 fmt::format("unknown key; known: {}", fmt::join(asked_, ", ")));
    }
  }
  if (problem_) {
    return tl::unexpected(*problem_);
  }
  return {};
}

}  // namespace carpool::measure
