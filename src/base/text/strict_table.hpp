// Reads a TOML file key by key and rejects every key that was not asked for. The counterpart of
// StrictObject, which does the same for JSON; its messages name file and line as well.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

// The library's header is expensive, so only .cpp files include it.
namespace toml {
inline namespace v3 {
class node;   // NOLINT(readability-identifier-naming)
class table;  // NOLINT(readability-identifier-naming)
}  // namespace v3
}  // namespace toml

namespace carpool {

// The first problem is kept and returned by finish(); a value that is read after it stays as it
// is. A key that is absent leaves its value as it is.
class StrictTable {
 public:
  StrictTable(const toml::table& root, std::string file) : table_(root), file_(std::move(file)) {}

  void read(std::string_view key, std::string& value);
  void read(std::string_view key, bool& value);
  void read(std::string_view key,
            double& value,
            double least = std::numeric_limits<double>::lowest(),
            double most = std::numeric_limits<double>::max());
  template <std::integral Integer>
  void read(std::string_view key, Integer& value, std::int64_t least, std::int64_t most) {
    if (const auto number = whole_number(key, least, most)) {
      value = static_cast<Integer>(*number);
    }
  }
  void read(std::string_view key, std::vector<std::string>& values);
  void read(std::string_view key, std::vector<bool>& values);
  void read(std::string_view key, std::vector<std::vector<std::string>>& values);  // none empty
  void read(std::string_view key,
            std::vector<std::vector<double>>& values,
            double least,
            double most);
  template <class Value, class... Bounds>
  void read(std::string_view key, std::optional<Value>& value, Bounds... bounds) {
    if (has(key) && !problem_) {
      Value given{};
      read(key, given, bounds...);
      value = problem_ ? std::nullopt : std::optional<Value>(given);
    } else {
      read_none(key);
    }
  }

  // A name that `parse` knows.
  template <class Value, class Parse>
  void read_name(std::string_view key, Parse parse, Value& value) {
    std::optional<std::string> name;
    read(key, name);
    if (!name) {
      return;
    }
    if (const auto parsed = parse(*name)) {
      value = *parsed;
    } else {
      problem(key, parsed.error().message);
    }
  }

  // The table of that name, or each table of an array of tables. What `read` does not ask for is a
  // problem of this table. Messages name it as TOML does: "[window]", "[[groups]]",
  // "[metrics.heat]".
  void read_tables(std::string_view key, const std::function<void(StrictTable&)>& read);

  // For tables whose keys are names that the file chooses.
  [[nodiscard]] std::vector<std::string> keys() const;
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] bool is_table(std::string_view key) const;
  [[nodiscard]] std::size_t line_of(std::string_view key) const;  // of the table where it is absent

  void require(std::string_view key);
  void problem(std::string_view key, std::string_view message);
  [[nodiscard]] Result<void> finish();

 private:
  const toml::node* take(std::string_view key);
  void read_none(std::string_view key) { asked_.emplace_back(key); }
  std::optional<std::int64_t> whole_number(std::string_view key,
                                           std::int64_t least,
                                           std::int64_t most);
  std::optional<double> number(const toml::node& node,
                               std::string_view key,
                               double least,
                               double most);
  void problem_at(std::size_t line, std::string_view what);
  void wrong_type(const toml::node& node, std::string_view key, std::string_view expected);

  const toml::table& table_;
  std::string file_;
  std::string path_;   // "metrics.heat"; empty: the file itself
  std::string where_;  // the same in brackets
  std::vector<std::string> asked_;
  std::optional<Error> problem_;
};

// Parses `text`, calls `read` with its root, and returns the first problem of either. `file` is
// how messages name it.
[[nodiscard]] Result<void> read_toml(std::string_view text,
                                     const std::string& file,
                                     const std::function<void(StrictTable&)>& read);

}  // namespace carpool
