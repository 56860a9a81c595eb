// Reads whole numbers from a JSON file of another program: other keys are ignored, null counts as
// absent, and a wrong type or size is an error that names the key.
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

  // The value of the first of these keys that exists; 0: none. error() keeps the first problem.
  [[nodiscard]] std::int64_t first_of(std::initializer_list<const char*> keys);
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  const nlohmann::json& object_;
  std::string where_;
  std::optional<Error> error_;
};

}  // namespace carpool::estimate
