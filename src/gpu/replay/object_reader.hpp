// Reads the JSON objects of files that Carpool wrote: keys are required unless maybe_… reads them,
// numbers are finite and not below 0, and any problem is Corrupt.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"
#include "base/text/strict_object.hpp"

namespace carpool::gpu {

// The object must outlive it.
class ObjectReader {
 public:
  static constexpr std::uint64_t kLargestCount = std::numeric_limits<std::int64_t>::max();

  // `where` starts every message: "sample".
  ObjectReader(const nlohmann::json& object, std::string where);

  [[nodiscard]] std::string text(const char* key);
  [[nodiscard]] std::optional<std::string> maybe_text(const char* key);
  [[nodiscard]] std::vector<std::string> texts(const char* key);
  [[nodiscard]] std::map<std::string, std::string> text_map(const char* key);
  [[nodiscard]] bool flag(const char* key);
  [[nodiscard]] std::uint64_t count(const char* key, std::uint64_t most = kLargestCount);
  [[nodiscard]] std::optional<std::uint64_t> maybe_count(const char* key,
                                                         std::uint64_t most = kLargestCount);
  [[nodiscard]] double number(const char* key);
  [[nodiscard]] std::optional<double> maybe_number(const char* key);
  // Null after a problem.
  [[nodiscard]] const nlohmann::json* array(const char* key);
  [[nodiscard]] const nlohmann::json* object(const char* key);
  // Null where there is none.
  [[nodiscard]] const nlohmann::json* maybe(const char* key) { return keys_.member(key); }

  void problem(const char* key, std::string_view what) { keys_.problem(key, what); }

  // The value, unless there was a problem or a key is left that was not read.
  template <class T>
  [[nodiscard]] Result<T> finish(T value) {
    if (auto read = finish(); !read) {
      return tl::unexpected(std::move(read.error()));
    }
    return value;
  }
  [[nodiscard]] Result<void> finish();

 private:
  StrictObject keys_;
};

}  // namespace carpool::gpu
