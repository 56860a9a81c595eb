#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "report/assets.hpp"
#include "report/report.hpp"
#include "report/tests/sample_report.hpp"

namespace carpool::report {
namespace {

constexpr std::string_view kHostile =
    "\"><script>alert(1)</script><img src=x onerror='y'></td></style> &amp; {{data}} \xE2\x80\xA8";

// The page without the bytes that we embed and do not generate.
std::string without_assets(std::string html) {
  for (const std::string_view asset : {chart_library(),
                                       charts_script(),
                                       xy_charts_script(),
                                       heatmap_script(),
                                       page_script(),
                                       page_style()}) {
    const std::size_t at = html.find(asset);
    EXPECT_NE(at, std::string::npos);
    html.erase(at, asset.size());
  }
  return html;
}

bool is_void(std::string_view name) {
  constexpr std::array<std::string_view, 6> kVoid = {"meta", "link", "br", "img", "rect", "line"};
  return std::ranges::find(kVoid, name) != kVoid.end();
}

// The tag that begins at `text`, without its angle brackets; a '>' in a quoted value does not end
// it.
std::string_view tag_at(std::string_view text) {
  bool quoted = false;
  std::size_t end = 1;
  while (end < text.size() && (quoted || text[end] != '>')) {
    quoted = quoted != (text[end] == '"');
    ++end;
  }
  return text.substr(1, end - 1);
}

// The first thing wrong with the nesting of elements, or nothing. Knows as much of HTML as we
// write: quoted attributes, no comments, void elements by name.
std::string nesting_fault(std::string_view html) {
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string_view::npos; at = html.find('<', at)) {
    std::string_view tag = tag_at(html.substr(at));
    at += tag.size();
    const bool closing = tag.starts_with('/');
    tag.remove_prefix(closing ? 1 : 0);
    const std::string name(tag.substr(0, tag.find_first_of(" /\n")));
    if (name == "!DOCTYPE" || is_void(name)) {
      continue;
    }
    if (!closing) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return "</" + name + "> closes " + (open.empty() ? "nothing" : open.back());
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : "<" + open.back() + "> is not closed";
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size())) {
    ++found;
  }
  return found;
}

nlohmann::json chart_data(std::string_view html) {
  constexpr std::string_view kOpen = "id=\"chart-data\">";
  const std::size_t from = html.find(kOpen) + kOpen.size();
  return nlohmann::json::parse(html.substr(from, html.find("</script>", from) - from));
}

TEST(Render, TheCheckerOfTheseTestsFindsFaults) {
  EXPECT_EQ(nesting_fault("<p><b>x</b></p>"), "");
  EXPECT_EQ(nesting_fault("<p><b>x</p></b>"), "</p> closes b");
  EXPECT_EQ(nesting_fault("<p title=\"</p>\">"), "<p> is not closed");
}

TEST(Render, ElementsAreNestedAndClosed) {
  EXPECT_EQ(nesting_fault(without_assets(render_html(sample_report("bert")))), "");
}

TEST(Render, HostileNamesStayText) {
  const std::string plain = without_assets(render_html(sample_report("bert")));
  const std::string html = without_assets(render_html(sample_report(std::string(kHostile))));
  EXPECT_EQ(nesting_fault(html), "");
  EXPECT_EQ(count(html, "<script"), count(plain, "<script"));
  EXPECT_EQ(count(html, "</script"), count(plain, "</script"));
  EXPECT_EQ(count(html, "<img"), 0U);
  EXPECT_EQ(count(html, "id=\"chart-data\""), 1U);
  EXPECT_EQ(chart_data(html)[0]["bars"][0]["label"], kHostile);
}

TEST(Render, BrokenUtf8DoesNotBreakThePage) {
  const std::string html = render_html(sample_report("a\xFF\xC3"));
  EXPECT_EQ(chart_data(html).size(), 5U);
}

TEST(Render, NothingIsLoadedFromElsewhere) {
  const std::string html = render_html(sample_report("bert"));
  const std::string ours = without_assets(html) + std::string(page_style()) +
                           std::string(page_script()) + std::string(charts_script()) +
                           std::string(xy_charts_script()) + std::string(heatmap_script());
  for (const std::string_view load : {"http:", "https:", "src=", "url(", "@import", "fetch("}) {
    EXPECT_EQ(count(ours, load), 0U) << load;
  }
  EXPECT_EQ(count(ours, "href="), count(ours, "href=\"#") + count(ours, "href=\"data:,\""));
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
}

TEST(Render, EmbeddedFilesCannotEndTheirElement) {
  for (const std::string_view script :
       {chart_library(), charts_script(), xy_charts_script(), heatmap_script(), page_script()}) {
    EXPECT_EQ(count(script, "</script") + count(script, "<!--"), 0U);
  }
  EXPECT_EQ(count(page_style(), "</"), 0U);
  EXPECT_NE(chart_library().find("Chart.js v3"), std::string_view::npos);
}

TEST(Render, EveryPlaceOfTheTemplateIsFilled) {
  EXPECT_EQ(count(without_assets(render_html(sample_report("bert"))), "{{"), 0U);
}

TEST(Render, EveryValueIsInATable) {
  const std::string html = without_assets(render_html(sample_report("bert")));
  for (const std::string_view value : {">98.8<",
                                       ">97.3<",
                                       ">99.4<",
                                       ">35.4<",
                                       ">11.2<",
                                       ">12.3<",
                                       ">50.25<",
                                       ">55.75<",
                                       ">1.43 (1.37)<",
                                       ">77.25<",
                                       ">12.5<"}) {
    EXPECT_NE(html.find(value), std::string::npos) << value;
  }
}

TEST(Render, EveryChartHasAnAlternativeTextAndItsData) {
  const std::string html = without_assets(render_html(sample_report("bert")));
  EXPECT_EQ(chart_data(html).size(), 5U);
  EXPECT_EQ(count(html, "role=\"img\" aria-label=\""), 5U);
  EXPECT_EQ(count(html, "<details>"), 5U);
}

TEST(Render, TheSameReportGivesTheSameBytes) {
  EXPECT_EQ(render_html(sample_report("bert")), render_html(sample_report("bert")));
}

TEST(Render, AnAxisThatDoesNotStartAtZeroIsSaid) {
  EXPECT_EQ(count(render_html(sample_report("bert")), "The vertical axis starts at 10 %"), 1U);
}

TEST(Render, MissingNumbersNeverReachTheScript) {
  Report report = sample_report("bert");
  auto& bars = std::get<BarChart>(report.sections[0].figures[0].content);
  bars.bars[0].value = kNoValue;
  bars.bars[0].spread = Interval{.low = -1.0 / 0.0, .high = 1.0 / 0.0};
  const auto data = chart_data(render_html(report));
  EXPECT_TRUE(data[0]["bars"][0]["value"].is_null());
  EXPECT_EQ(data.dump().find("nan"), std::string::npos);
}

TEST(Render, EmptyFiguresSaySo) {
  Report report{.title = "Empty"};
  ReportSection section{.heading = "Nothing"};
  section.figures = {{.title = "a", .content = BarChart{}},
                     {.title = "b", .content = GroupedBarChart{}},
                     {.title = "c", .content = LineChart{}},
                     {.title = "d", .content = ScatterChart{.series = {{.name = "no points"}}}},
                     {.title = "e", .content = SlowdownMatrix{}},
                     {.title = "f", .content = ParameterChart{}},
                     {.title = "g", .content = ReportTable{}}};
  report.sections = {section};
  const std::string html = without_assets(render_html(report));
  EXPECT_EQ(nesting_fault(html), "");
  EXPECT_EQ(count(html, "No data."), 7U);
  EXPECT_TRUE(chart_data(html).empty());
}

}  // namespace
}  // namespace carpool::report
