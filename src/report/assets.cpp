#include "report/assets.hpp"

// The assembler copies the files byte for byte, so that 200 kB of Chart.js cost no compile time.
// CMake passes the paths and rebuilds this file when one of them changes.
#define CARPOOL_EMBED(symbol, path)                                           \
  asm(".pushsection .rodata\n"                                                \
      ".global carpool_" #symbol                                              \
      "_begin\n"                                                              \
      ".global carpool_" #symbol                                              \
      "_end\n"                                                                \
      ".hidden carpool_" #symbol                                              \
      "_begin\n"                                                              \
      ".hidden carpool_" #symbol                                              \
      "_end\n"                                                                \
      "carpool_" #symbol                                                      \
      "_begin:\n"                                                             \
      ".incbin \"" path                                                       \
      "\"\n"                                                                  \
      "carpool_" #symbol                                                      \
      "_end:\n"                                                               \
      ".byte 0\n"                                                             \
      ".popsection\n");                                                       \
  extern "C" {                                                                \
  [[gnu::visibility("hidden")]] extern const char carpool_##symbol##_begin[]; \
  [[gnu::visibility("hidden")]] extern const char carpool_##symbol##_end[];   \
  }

CARPOOL_EMBED(template, CARPOOL_PAGE "/template.html")
CARPOOL_EMBED(style, CARPOOL_PAGE "/page.css")
CARPOOL_EMBED(page, CARPOOL_PAGE "/page.js")
CARPOOL_EMBED(charts, CARPOOL_PAGE "/charts.js")
CARPOOL_EMBED(xy_charts, CARPOOL_PAGE "/xy_charts.js")
CARPOOL_EMBED(heatmap, CARPOOL_PAGE "/heatmap.js")
CARPOOL_EMBED(library, CARPOOL_CHART_JS)

namespace carpool::report {

std::string_view page_template() {
  return {carpool_template_begin, carpool_template_end};
}
std::string_view page_style() {
  return {carpool_style_begin, carpool_style_end};
}
std::string_view page_script() {
  return {carpool_page_begin, carpool_page_end};
}
std::string_view charts_script() {
  return {carpool_charts_begin, carpool_charts_end};
}
std::string_view xy_charts_script() {
  return {carpool_xy_charts_begin, carpool_xy_charts_end};
}
std::string_view heatmap_script() {
  return {carpool_heatmap_begin, carpool_heatmap_end};
}
std::string_view chart_library() {
  return {carpool_library_begin, carpool_library_end};
}

}  // namespace carpool::report
