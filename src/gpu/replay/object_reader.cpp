#include "gpu/replay/object_reader.hpp"

#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace carpool::gpu {

using nlohmann::json;

ObjectReader::ObjectReader(const json& object, std::string where)
    : keys_(object, std::move(where)) {}

std::string ObjectReader::text(const char* key) {
  keys_.require(key);
  return maybe_text(key).value_or("");
}

std::optional<std::string> ObjectReader::maybe_text(const char* key) {
  std::optional<std::string> value;
  keys_.read(key, value);
  return value;
}

std::vector<std::string> ObjectReader::texts(const char* key) {
  keys_.require(key);
  std::vector<std::string> values;
  keys_.read(key, values);
  return values;
}

std::map<std::string, std::string> ObjectReader::text_map(const char* key) {
  keys_.require(key);
  std::map<std::string, std::string> values;
  keys_.read(key, values);
  return values;
}

bool ObjectReader::flag(const char* key) {
  keys_.require(key);
  bool value = false;
  keys_.read(key, value);
  return value;
}

std::uint64_t ObjectReader::count(const char* key, std::uint64_t most) {
  keys_.require(key);
  return maybe_count(key, most).value_or(0);
}

std::optional<std::uint64_t> ObjectReader::maybe_count(const char* key, std::uint64_t most) {
  std::optional<std::uint64_t> value;
  keys_.read(key, value);
  if (value > most) {
    keys_.problem(key, fmt::format("expected a whole number from 0 to {}", most));
  }
  return value;
}

double ObjectReader::number(const char* key) {
  keys_.require(key);
  return maybe_number(key).value_or(0.0);
}

std::optional<double> ObjectReader::maybe_number(const char* key) {
  std::optional<double> value;
  keys_.read(key, value);
  if (value && !(std::isfinite(*value) && *value >= 0.0)) {
    keys_.problem(key, "expected a number, not below 0");
  }
  return value;
}

const json* ObjectReader::array(const char* key) {
  keys_.require(key);
  const json* found = keys_.member(key);
  if (found != nullptr && !found->is_array()) {
    keys_.problem(key, "expected a list");
    return nullptr;
  }
  return found;
}

const json* ObjectReader::object(const char* key) {
  keys_.require(key);
  const json* found = keys_.member(key);
  if (found != nullptr && !found->is_object()) {
    keys_.problem(key, "expected an object");
    return nullptr;
  }
  return found;
}

Result<void> ObjectReader::finish() {
  auto read = keys_.finish();
  if (!read) {
    return fail(ErrorCode::Corrupt, std::move(read.error().message));
  }
  return read;
}

}  // namespace carpool::gpu
