// Writes one flat JSON object directly as text: a listing has thousands of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace carpool::serve {

class JsonLine {
 public:
  // Appends to `out`, which outlives this.
  explicit JsonLine(std::string& out) : out_(out) { out_ += '{'; }

  void add(std::string_view key, std::string_view text);
  void add(std::string_view key, const char* text) { add(key, std::string_view(text)); }
  void add(std::string_view key, std::int64_t number);
  void add(std::string_view key, std::uint64_t number);
  void add(std::string_view key, unsigned number) { add(key, std::uint64_t{number}); }
  void add(std::string_view key, int number) { add(key, std::int64_t{number}); }
  void add(std::string_view key, double number);
  void add(std::string_view key, const std::vector<unsigned>& numbers);
  template <class T>
  void add(std::string_view key, const std::optional<T>& value) {
    if (value) {
      add(key, *value);
    }
  }

  // Once, at the end.
  void close() { out_ += '}'; }

 private:
  void begin(std::string_view key);

  std::string& out_;
  bool first_ = true;
};

}  // namespace carpool::serve
