// Whole numbers of a JSON file that others wrote: a wrong type or size is an error that names the
// key; null counts as absent.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"

namespace carpool::estimate {

inline constexpr std::int64_t kMaxCount = 1'000'000'000'000;

class JsonNumbers {
 public:
  JsonNumbers(const nlohmann::json& object, std::string where)
      : object_(object), where_(std::move(where)) {}

  // The first of these keys that is there; 0: none. The first problem stays in error().
  [[nodiscard]] std::int64_t first_of(std::initializer_list<const char*> keys);
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  const nlohmann::json& object_;
  std::string where_;
  std::optional<Error> error_;
};

}  // namespace carpool::estimate
