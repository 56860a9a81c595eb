#include "report/gantt_html.hpp"

#include <regex>
#include <string>

#include <gtest/gtest.h>

#include "report/assets.hpp"

namespace carpool::report {
namespace {

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

GanttChart two_lanes() {
  return {.time = {.name = "time", .unit = "s", .decimals = 0},
          .lanes = {"GPU 0", "GPU 1"},
          .kinds = {"ran", "failed"},
          .bars = {{.lane = 0, .from = 0.0, .to = 10.0, .label = "a"},
                   {.lane = 0, .from = 5.0, .to = 15.0, .label = "b <script>"},
                   {.lane = 1, .from = 0.0, .to = 20.0, .label = "c", .kind = 1}}};
}

TEST(GanttHtml, DrawsEveryBarAndEscapesWhatItIsCalled) {
  const std::string html = gantt_html(two_lanes(), "jobs");
  EXPECT_EQ(count(html, "<title>"), 3);
  EXPECT_NE(html.find("b &lt;script&gt;"), std::string::npos);
  EXPECT_EQ(html.find("<script>"), std::string::npos);
}

TEST(GanttHtml, PutsBarsThatOverlapBelowEachOther) {
  GanttChart chart = two_lanes();
  const std::string overlapping = gantt_html(chart, "jobs");
  chart.bars[1].from = 10.0;
  const std::string after = gantt_html(chart, "jobs");
  EXPECT_NE(overlapping.find("y=\"19.0\""), std::string::npos);
  EXPECT_EQ(after.find("y=\"19.0\""), std::string::npos);
}

// A rule for every drawing would make each key of the legend as large as the page is wide.
TEST(GanttHtml, TheStyleStretchesTheChartAndNotTheKeysOfTheLegend) {
  const std::string html = gantt_html(two_lanes(), "jobs");
  EXPECT_EQ(count(html, "<div class=\"scroll gantt\"><svg"), 1);
  EXPECT_EQ(count(html, "<svg width=\"14\" height=\"14\""), 2);
  const std::string style(page_style());
  EXPECT_NE(style.find(".scroll.gantt > svg {"), std::string::npos);
  EXPECT_EQ(style.find("\n.gantt svg"), std::string::npos);
}

// The widest thing on a phone of 420 px is a box that scrolls.
TEST(GanttHtml, NothingElseIsWiderThanANarrowScreen) {
  const std::string style(page_style());
  const std::regex fixed(R"(\n([^\n{@]*)\{[^}]*[ ;{](min-)?width: (\d+)px)");
  std::size_t found = 0;
  for (std::sregex_iterator at(style.begin(), style.end(), fixed), end; at != end; ++at) {
    ++found;
    const bool scrolls = at->str(1).starts_with(".scroll");
    EXPECT_TRUE(scrolls || std::stoi(at->str(3)) < 360) << at->str();
  }
  EXPECT_GE(found, 3U);
}

// 6 px above, 13 px a row, 8 px below a lane, 22 px for the axis.
TEST(GanttHtml, IsAsHighAsItsRows) {
  GanttChart chart = two_lanes();
  EXPECT_NE(gantt_html(chart, "jobs").find("<svg viewBox=\"0 0 1110 83\""), std::string::npos);
  for (int i = 0; i < 100; ++i) {  // one after another: no further row
    chart.bars.push_back({.lane = 1, .from = 20.0 + i, .to = 21.0 + i, .label = "d"});
  }
  EXPECT_NE(gantt_html(chart, "jobs").find("<svg viewBox=\"0 0 1110 83\""), std::string::npos);
  for (int i = 0; i < 100; ++i) {  // all at once: a row each
    chart.bars.push_back({.lane = 0, .from = 0.0, .to = 120.0, .label = "e"});
  }
  EXPECT_NE(gantt_html(chart, "jobs").find("<svg viewBox=\"0 0 1110 1383\""), std::string::npos);
}

TEST(GanttHtml, TheAxisBeginsAtZero) {
  GanttChart chart = two_lanes();
  for (GanttBar& bar : chart.bars) {
    bar.from += 1000.0;
    bar.to += 1000.0;
  }
  const std::string html = gantt_html(chart, "jobs");
  const std::size_t first = html.find("<line ");
  EXPECT_EQ(html.find("<line x1=\"70.0\""), first);
  EXPECT_EQ(html.find("\"middle\">"), html.find("\"middle\">0 s<"));
}

}  // namespace
}  // namespace carpool::report
