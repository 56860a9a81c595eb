#include "base/text/strict_object.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/names.hpp"

namespace carpool {
namespace {

using nlohmann::json;

// Whether a number is whole and within what the type can hold.
template <class Number>
bool fits(const json& value) {
  if (value.is_number_unsigned()) {
    return value.get<std::uint64_t>() <=
           static_cast<std::uint64_t>(std::numeric_limits<Number>::max());
  }
  if (!value.is_number_integer()) {
    return false;
  }
  const auto number = value.get<std::int64_t>();  // negative, otherwise it would be unsigned
  return std::numeric_limits<Number>::is_signed &&
         number >= static_cast<std::int64_t>(std::numeric_limits<Number>::min());
}

template <class Number>
bool take(const json& value, Number& out) {
  if (!fits<Number>(value)) {
    return false;
  }
  out = value.get<Number>();
  return true;
}

bool take(const json& value, std::string& out) {
  if (!value.is_string()) {
    return false;
  }
  out = value.get<std::string>();
  return true;
}

template <class Element>
bool take(const json& value, std::vector<Element>& out) {
  if (!value.is_array()) {
    return false;
  }
  std::vector<Element> all(value.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!take(value[i], all[i])) {
      return false;
    }
  }
  out = std::move(all);
  return true;
}

}  // namespace

StrictObject::StrictObject(const json& object, std::string where)
    : object_(object), where_(std::move(where)) {
  if (!object_.is_object()) {
    problem_ = fmt::format("{}: not a JSON object", where_);
  }
}

const json* StrictObject::member(const char* key) {
  asked_.emplace_back(key);
  if (!object_.is_object()) {
    return nullptr;
  }
  const auto found = object_.find(key);
  return found == object_.end() ? nullptr : &*found;
}

void StrictObject::require(const char* key) {
  if (member(key) == nullptr) {
    problem(key, "is missing");
  }
}

void StrictObject::problem(const char* key, std::string_view what) {
  if (problem_.empty()) {
    problem_ = fmt::format("{}: {}: {}", where_, key, what);
  }
}

void StrictObject::read(const char* key, std::string& value) {
  if (const json* found = member(key); found != nullptr && !take(*found, value)) {
    problem(key, "expected text");
  }
}

void StrictObject::read(const char* key, bool& value) {
  const json* found = member(key);
  if (found == nullptr) {
    return;
  }
  if (!found->is_boolean()) {
    problem(key, "expected true or false");
    return;
  }
  value = found->get<bool>();
}

void StrictObject::read(const char* key, int& value) {
  if (const json* found = member(key); found != nullptr && !take(*found, value)) {
    problem(key, "expected a whole number");
  }
}

void StrictObject::read(const char* key, unsigned& value) {
  if (const json* found = member(key); found != nullptr && !take(*found, value)) {
    problem(key, "expected a whole number, not below 0");
  }
}

void StrictObject::read(const char* key, std::int64_t& value) {
  if (const json* found = member(key); found != nullptr && !take(*found, value)) {
    problem(key, "expected a whole number");
  }
}

void StrictObject::read(const char* key, std::uint64_t& value) {
  if (const json* found = member(key); found != nullptr && !take(*found, value)) {
    problem(key, "expected a whole number, not below 0");
  }
}

void StrictObject::read(const char* key, double& value) {
  const json* found = member(key);
  if (found == nullptr) {
    return;
  }
  if (!found->is_number()) {
    problem(key, "expected a number");
    return;
  }
  value = found->get<double>();
}

void StrictObject::read(const char* key, std::vector<std::string>& value) {
  if (const json* found = member(key); found != nullptr && !take(*found, value)) {
    problem(key, "expected a list of texts");
  }
}

void StrictObject::read(const char* key, std::vector<unsigned>& value) {
  if (const json* found = member(key); found != nullptr && !take(*found, value)) {
    problem(key, "expected a list of whole numbers, not below 0");
  }
}

void StrictObject::read(const char* key, std::vector<std::int64_t>& value) {
  if (const json* found = member(key); found != nullptr && !take(*found, value)) {
    problem(key, "expected a list of whole numbers");
  }
}

void StrictObject::read(const char* key, std::map<std::string, std::string>& value) {
  const json* found = member(key);
  if (found == nullptr) {
    return;
  }
  std::map<std::string, std::string> all;
  bool good = found->is_object();
  if (good) {
    for (const auto& [name, text] : found->items()) {
      good = good && take(text, all[name]);
    }
  }
  if (!good) {
    problem(key, "expected an object of texts");
    return;
  }
  value = std::move(all);
}

Result<void> StrictObject::finish() {
  if (problem_.empty()) {
    for (const auto& [key, value] : object_.items()) {
      if (std::ranges::find(asked_, key) == asked_.end()) {
        problem_ = fmt::format("{}: unknown key \"{}\"{}", where_, key, suggestion(key, asked_));
        break;
      }
    }
  }
  return problem_.empty() ? Result<void>() : invalid_input(problem_);
}

}  // namespace carpool
