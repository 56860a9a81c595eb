#include "measure/table_text.hpp"

#include <fmt/format.h>

namespace carpool::measure {

std::string digits(double value) {
  return fmt::format("{:.7g}", value);
}

std::string digits(const std::optional<double>& value) {
  return value ? digits(*value) : std::string();
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    out += c == '\n' || c == '\r' ? ' ' : c;
    if (c == '"') {
      out += '"';
    }
  }
  return out + "\"";
}

std::string toml_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

}  // namespace carpool::measure
