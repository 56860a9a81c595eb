#include "gpu/replay/object_reader.hpp"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace carpool::gpu {

using nlohmann::json;

ObjectReader::ObjectReader(const json& object, std::string_view what)
    : object_(object.is_object() ? &object : nullptr), what_(what) {
  if (object_ == nullptr) {
    refuse("is not a JSON object");
  }
}

const json* ObjectReader::maybe(const char* key) {
  asked_.emplace(key);
  if (object_ == nullptr) {
    return nullptr;
  }
  const auto found = object_->find(key);
  return found == object_->end() ? nullptr : &*found;
}

const json* ObjectReader::require(const char* key) {
  const json* found = maybe(key);
  if (found == nullptr) {
    refuse(fmt::format("lacks the key \"{}\"", key));
  }
  return found;
}

std::string ObjectReader::text(const char* key) {
  (void)require(key);
  return maybe_text(key).value_or("");
}

std::optional<std::string> ObjectReader::maybe_text(const char* key) {
  const json* found = maybe(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  if (!found->is_string()) {
    refuse_type(key, "a text");
    return std::nullopt;
  }
  return found->get<std::string>();
}

bool ObjectReader::flag(const char* key) {
  const json* found = require(key);
  if (found != nullptr && !found->is_boolean()) {
    refuse_type(key, "true or false");
    return false;
  }
  return found != nullptr && found->get<bool>();
}

std::uint64_t ObjectReader::count(const char* key, std::uint64_t most) {
  (void)require(key);
  return maybe_count(key, most).value_or(0);
}

std::optional<std::uint64_t> ObjectReader::maybe_count(const char* key, std::uint64_t most) {
  const json* found = maybe(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  if (!found->is_number_unsigned() || found->get<std::uint64_t>() > most) {
    refuse_type(key, fmt::format("a whole number from 0 to {}", most));
    return std::nullopt;
  }
  return found->get<std::uint64_t>();
}

double ObjectReader::number(const char* key) {
  (void)require(key);
  return maybe_number(key).value_or(0.0);
}

std::optional<double> ObjectReader::maybe_number(const char* key) {
  const json* found = maybe(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  const double value = found->is_number() ? found->get<double>() : -1.0;
  if (!std::isfinite(value) || value < 0.0) {
    refuse_type(key, "a number from 0");
    return std::nullopt;
  }
  return value;
}

const json* ObjectReader::array(const char* key) {
  const json* found = require(key);
  if (found != nullptr && !found->is_array()) {
    refuse_type(key, "a list");
    return nullptr;
  }
  return found;
}

void ObjectReader::refuse(std::string_view problem) {
  if (!problem_) {
    problem_ = fmt::format("{} {}", what_, problem);
  }
}

void ObjectReader::refuse_type(const char* key, std::string_view wanted) {
  refuse(fmt::format("has something else than {} under the key \"{}\"", wanted, key));
}

void ObjectReader::check_for_strangers() {
  if (object_ == nullptr) {
    return;
  }
  for (const auto& item : object_->items()) {
    if (!asked_.contains(item.key())) {
      refuse(fmt::format("has the unknown key \"{}\"", item.key()));
    }
  }
}

}  // namespace carpool::gpu
