// Text to HTML: escaping, numbers, templates.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace carpool::report {

// For element content and for attribute values in double quotes.
[[nodiscard]] std::string escape_html(std::string_view text);

// JSON text for a <script> element: the result cannot end the element or the line.
[[nodiscard]] std::string escape_json_for_script(std::string_view json);

// Fixed number of decimals; a dash for NaN and infinity; never "-0.0".
[[nodiscard]] std::string format_number(double value, int decimals);

// "98.8 %", "1.4×", "12.0 samples/s".
[[nodiscard]] std::string format_with_unit(double value, int decimals, std::string_view unit);

// Replaces each {{name}} of the template. Inserted text is not expanded again; a name without a
// value is left unchanged.
[[nodiscard]] std::string fill_template(
    std::string_view text, const std::map<std::string, std::string, std::less<>>& values);

}  // namespace carpool::report
