// Writes only what says something into a JSON object.
#pragma once

#include <optional>

namespace carpool {

template <class Object, class Value>
void put(Object& object, const char* key, const Value& value, const Value& usual) {
  if (value != usual) {
    object[key] = value;
  }
}

template <class Object, class Value>
void put(Object& object, const char* key, const std::optional<Value>& value) {
  if (value) {
    object[key] = *value;
  }
}

}  // namespace carpool
