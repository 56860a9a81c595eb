// Writes a value into a JSON object unless it is the default or absent.
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
