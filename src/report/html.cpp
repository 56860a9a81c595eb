#include "report/html.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

namespace carpool::report {
namespace {

constexpr std::string_view kDash = "–";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

}  // namespace

std::string escape_html(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default: {
        // Control characters are not allowed in HTML; white space is.
        const auto byte = static_cast<unsigned char>(c);
        const bool control = (byte < 0x20 && c != '\t' && c != '\n') || byte == 0x7F;
        if (control) {
          escaped += kReplacement;
        } else {
          escaped += c;
        }
      }
    }
  }
  return escaped;
}

std::string escape_json_for_script(std::string_view json) {
  // JSON has these characters only in strings, so the escapes do not change its meaning.
  std::string escaped;
  escaped.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = json.substr(i);
    if (rest.starts_with("\xE2\x80\xA8") || rest.starts_with("\xE2\x80\xA9")) {
      escaped += rest[2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else if (rest[0] == '<' || rest[0] == '>' || rest[0] == '&') {
      escaped += fmt::format("\\u{:04x}", static_cast<unsigned>(rest[0]));
    } else {
      escaped += rest[0];
    }
  }
  return escaped;
}

std::string format_number(double value, int decimals) {
  if (!std::isfinite(value)) {
    return std::string(kDash);
  }
  std::string text = fmt::format("{:.{}f}", value, std::max(decimals, 0));
  if (text.starts_with('-') && text.find_first_not_of("-0.") == std::string::npos) {
    text.erase(0, 1);
  }
  return text;
}

std::string format_with_unit(double value, int decimals, std::string_view unit) {
  std::string text = format_number(value, decimals);
  if (unit.empty() || !std::isfinite(value)) {
    return text;
  }
  return fmt::format("{}{}{}", text, unit == "×" ? "" : " ", unit);
}

std::string fill_template(std::string_view text,
                          const std::map<std::string, std::string, std::less<>>& values) {
  std::string filled;
  while (true) {
    const std::size_t open = text.find("{{");
    const std::size_t close = open == std::string_view::npos ? open : text.find("}}", open);
    if (close == std::string_view::npos) {
      return filled.append(text);
    }
    filled.append(text.substr(0, open));
    const auto value = values.find(text.substr(open + 2, close - open - 2));
    filled.append(value == values.end() ? text.substr(open, close + 2 - open)
                                        : std::string_view(value->second));
    text.remove_prefix(close + 2);
  }
}

}  // namespace carpool::report
