// The files of the page, embedded at build time.
#pragma once

#include <string_view>

namespace carpool::report {

[[nodiscard]] std::string_view page_template();  // HTML with {{name}} in place of content
[[nodiscard]] std::string_view page_style();
[[nodiscard]] std::string_view page_script();
[[nodiscard]] std::string_view charts_script();
[[nodiscard]] std::string_view xy_charts_script();
[[nodiscard]] std::string_view heatmap_script();
[[nodiscard]] std::string_view chart_library();  // Chart.js, minified, with its licence comment

}  // namespace carpool::report
