// Strict reader of the TOML tables of a plan. Internal to measure/. base/text/strict_object.hpp
// does the same for JSON, which has no line numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

// Forward declarations of toml++, whose header is expensive.
namespace toml {
inline namespace v3 {
class node;   // NOLINT(readability-identifier-naming)
class table;  // NOLINT(readability-identifier-naming)
}  // namespace v3
}  // namespace toml

namespace carpool::measure {

// The values of one TOML table. The first problem is kept and later reads do nothing; finish()
// returns it, or an error about a key that was not read. Messages name file and line.
class TableReader {
 public:
  TableReader(const toml::table& table, std::string file, std::string where)
      : table_(table), file_(std::move(file)), where_(std::move(where)) {}

  void text(std::string_view key, std::string& value);
  void texts(std::string_view key, std::vector<std::string>& values);
  void number(std::string_view key, double& value, double least, double most);
  void optional_number(std::string_view key,
                       std::optional<double>& value,
                       double least,
                       double most);
  void flags(std::string_view key, std::vector<bool>& values);
  // Lists of numbers, all within the bounds.
  void number_lists(std::string_view key,
                    std::vector<std::vector<double>>& values,
                    double least,
                    double most);
  void text_lists(std::string_view key, std::vector<std::vector<std::string>>& values);
  template <class Integer>
  void integer(std::string_view key, Integer& value, std::int64_t least, std::int64_t most) {
    if (const auto read = whole(key, least, most)) {
      value = static_cast<Integer>(*read);
    }
  }

  // Each table of the array of this name, or the single table.
  void tables(std::string_view key, const std::function<Result<void>(const toml::table&)>& read);

  void fail(std::string_view key, std::string_view message);
  [[nodiscard]] Result<void> finish();

 private:
  const toml::node* take(std::string_view key);
  std::optional<std::int64_t> whole(std::string_view key, std::int64_t least, std::int64_t most);
  std::optional<double> bounded(const toml::node& node,
                                std::string_view key,
                                double least,
                                double most);
  void problem_at(const toml::node& node, std::string_view key, std::string_view message);

  const toml::table& table_;
  std::string file_;
  std::string where_;  // "[window]", for messages
  std::vector<std::string> asked_;
  std::optional<Error> problem_;
};

}  // namespace carpool::measure
