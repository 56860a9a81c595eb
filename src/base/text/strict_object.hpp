// Reads a JSON object key by key and rejects every key that was not asked for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"

namespace carpool {

// The first problem is kept and returned by finish(). A key that is absent leaves its value as it
// is. The object outlives this.
class StrictObject {
 public:
  // `where` begins every message: "job", "event 17".
  StrictObject(const nlohmann::json& object, std::string where);

  void read(const char* key, std::string& value);
  void read(const char* key, bool& value);
  void read(const char* key, int& value);
  void read(const char* key, unsigned& value);
  void read(const char* key, std::int64_t& value);
  void read(const char* key, std::uint64_t& value);
  void read(const char* key, double& value);
  void read(const char* key, std::vector<std::string>& value);
  void read(const char* key, std::vector<unsigned>& value);
  void read(const char* key, std::vector<std::int64_t>& value);
  void read(const char* key, std::map<std::string, std::string>& value);
  template <class Value>
  void read(const char* key, std::optional<Value>& value) {
    if (member(key) != nullptr) {
      Value given{};
      read(key, given);
      value = given;
    }
  }

  // A name that `parse` knows.
  template <class Value, class Parse>
  void read_name(const char* key, Parse parse, Value& value) {
    std::optional<std::string> name;
    read(key, name);
    if (!name) {
      return;
    }
    if (const auto parsed = parse(*name)) {
      value = *parsed;
    } else {
      problem(key, parsed.error().message);
    }
  }

  // Null where it is absent.
  [[nodiscard]] const nlohmann::json* member(const char* key);
  void require(const char* key);
  void problem(const char* key, std::string_view what);
  [[nodiscard]] Result<void> finish();

 private:
  const nlohmann::json& object_;
  std::string where_;
  std::string problem_;
  std::vector<std::string_view> asked_;
};

}  // namespace carpool
