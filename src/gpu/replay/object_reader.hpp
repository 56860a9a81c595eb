// Takes the keys of one JSON object one by one, and keeps the first thing that is wrong with it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"

namespace carpool::gpu {

// The object must outlive it.
class ObjectReader {
 public:
  static constexpr std::uint64_t kLargestCount = std::numeric_limits<std::int64_t>::max();

  ObjectReader(const nlohmann::json& object, std::string_view what);

  [[nodiscard]] std::string text(const char* key);
  [[nodiscard]] std::optional<std::string> maybe_text(const char* key);
  [[nodiscard]] bool flag(const char* key);
  // At most what a signed number holds, or `most`.
  [[nodiscard]] std::uint64_t count(const char* key, std::uint64_t most = kLargestCount);
  [[nodiscard]] std::optional<std::uint64_t> maybe_count(const char* key,
                                                         std::uint64_t most = kLargestCount);
  [[nodiscard]] double number(const char* key);  // at least 0, as all that a GPU tells
  [[nodiscard]] std::optional<double> maybe_number(const char* key);
  [[nodiscard]] const nlohmann::json* array(const char* key);
  [[nodiscard]] const nlohmann::json* maybe(const char* key);

  void refuse(std::string_view problem);

  // The value, unless something was wrong or a key was left over that nobody asked for.
  template <class T>
  [[nodiscard]] Result<T> finish(T value) {
    check_for_strangers();
    if (problem_) {
      return fail(ErrorCode::Corrupt, std::move(*problem_));
    }
    return value;
  }

 private:
  [[nodiscard]] const nlohmann::json* require(const char* key);
  void refuse_type(const char* key, std::string_view wanted);
  void check_for_strangers();

  const nlohmann::json* object_;  // null when it was no object
  std::string what_;
  std::set<std::string, std::less<>> asked_;
  std::optional<std::string> problem_;
};

}  // namespace carpool::gpu
