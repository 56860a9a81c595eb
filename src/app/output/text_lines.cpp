#include "app/output/text_lines.hpp"

#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/printable.hpp"
#include "serve/units.hpp"

namespace carpool::app {

void add_line(std::string& text, std::string_view name, std::string_view value) {
  if (!value.empty()) {
    text += fmt::format("{:<12} {}\n", name, printable(value));
  }
}

std::string bytes_at(const nlohmann::json& object, const char* key) {
  return object.contains(key) ? serve::show_bytes(object.at(key).get<std::uint64_t>())
                              : std::string();
}

}  // namespace carpool::app
