#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/digest.hpp"
#include "report/assets.hpp"
#include "report/chart_json.hpp"
#include "report/data_table.hpp"
#include "report/gantt_html.hpp"
#include "report/html.hpp"
#include "report/report.hpp"
#include "report/table_html.hpp"

namespace carpool::report {
namespace {

constexpr std::string_view kProvenanceHeading = "Origin of these numbers";

// The browser runs and applies only content with the hashes of the embedded files, and fetches
// nothing: even a name that is not escaped cannot run as a script.
std::string content_security_policy() {
  const auto hash = [](std::string_view content) {
    const std::string hex = sha256_hex(content);
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
      bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
    return "'sha256-" + base64_encode(bytes) + "'";
  };
  return fmt::format("default-src 'none'; img-src data:; style-src {}; script-src {} {} {} {} {}",
                     hash(page_style()),
                     hash(chart_library()),
                     hash(charts_script()),
                     hash(xy_charts_script()),
                     hash(heatmap_script()),
                     hash(page_script()));
}

bool is_empty(const BarChart& chart) {
  return chart.bars.empty();
}
bool is_empty(const GroupedBarChart& chart) {
  return chart.categories.empty() || chart.series.empty();
}
bool is_empty(const LineChart& chart) {
  return chart.xs.empty() || chart.series.empty();
}
bool is_empty(const SlowdownMatrix& chart) {
  return chart.cells.empty();
}
bool is_empty(const ParameterChart& chart) {
  return chart.rows.empty();
}
bool is_empty(const GanttChart& chart) {
  return chart.bars.empty();
}
bool is_empty(const ReportTable& table) {
  return table.rows.empty();
}
bool is_empty(const ScatterChart& chart) {
  for (const ScatterSeries& series : chart.series) {
    if (!series.points.empty()) {
      return false;
    }
  }
  return true;
}

// An axis that does not start at zero exaggerates differences, so the caption says so.
std::string axis_note(const FigureContent& content) {
  const auto* line = std::get_if<LineChart>(&content);
  if (line == nullptr || !line->y_min || *line->y_min == 0.0) {
    return "";
  }
  return fmt::format(" The vertical axis starts at {}, not at zero.",
                     format_with_unit(*line->y_min, 0, line->y.unit));
}

// Writes sections and figures in order and collects the data of the scripts.
class Page {
 public:
  [[nodiscard]] std::string section(const ReportSection& section, std::size_t number) {
    std::string html = fmt::format(
        "<section id=\"section-{}\">\n<h2>{}</h2>\n", number, escape_html(section.heading));
    for (const std::string& paragraph : section.paragraphs) {
      html += fmt::format("<p>{}</p>\n", escape_html(paragraph));
    }
    for (const Figure& one : section.figures) {
      html += figure(one);
    }
    return html + "</section>\n";
  }

  [[nodiscard]] std::string chart_data() const {
    return escape_json_for_script(
        charts_.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }

 private:
  std::string figure(const Figure& figure) {
    const std::string body = std::visit(
        [this, &figure](const auto& content) {
          return is_empty(content) ? std::string("<p class=\"empty\">No data.</p>\n")
                                   : this->body(content, figure.title);
        },
        figure.content);
    const std::string caption = figure.caption + axis_note(figure.content);
    return fmt::format(
        "<figure>\n<h3>{}</h3>\n{}{}</figure>\n",
        escape_html(figure.title),
        caption.empty() ? "" : fmt::format("<figcaption>{}</figcaption>\n", escape_html(caption)),
        body);
  }

  static std::string body(const ReportTable& table, std::string_view title) {
    return table_html(table, title);
  }
  static std::string body(const ParameterChart& chart, std::string_view title) {
    return parameters_html(chart, title);
  }
  static std::string body(const GanttChart& chart, std::string_view title) {
    return gantt_html(chart, title);
  }
  template <class Chart>
  std::string body(const Chart& chart, std::string_view title) {
    charts_.push_back(chart_json(chart));
    return fmt::format(
        "<div class=\"chart\" data-chart=\"{}\" role=\"img\" aria-label=\"{}\"></div>\n"
        "<details><summary>Show the data</summary>\n{}</details>\n",
        charts_.size() - 1,
        escape_html(fmt::format("{}. {}", title, describe(chart))),
        table_html(data_table(chart), fmt::format("Data: {}", title)));
  }

  nlohmann::json charts_ = nlohmann::json::array();
};

std::string key_figures_html(const std::vector<KeyFigure>& key_figures) {
  if (key_figures.empty()) {
    return "";
  }
  std::string html = "<ul class=\"key-figures\">\n";
  for (const KeyFigure& figure : key_figures) {
    html += fmt::format("<li><strong>{}</strong><span>{}</span><small>{}</small></li>\n",
                        escape_html(figure.value),
                        escape_html(figure.label),
                        escape_html(figure.detail));
  }
  return html + "</ul>\n";
}

std::string contents_html(const Report& report) {
  std::string html;
  for (std::size_t i = 0; i < report.sections.size(); ++i) {
    html += fmt::format("<li><a href=\"#section-{}\">{}</a></li>\n",
                        i + 1,
                        escape_html(report.sections[i].heading));
  }
  if (!report.provenance.empty()) {
    html += fmt::format("<li><a href=\"#provenance\">{}</a></li>\n", kProvenanceHeading);
  }
  return html;
}

std::string provenance_html(const std::vector<Fact>& facts) {
  if (facts.empty()) {
    return "";
  }
  std::string html = fmt::format("<section id=\"provenance\">\n<h2>{}</h2>\n<dl class=\"facts\">\n",
                                 kProvenanceHeading);
  for (const Fact& fact : facts) {
    html += fmt::format(
        "<div><dt>{}</dt><dd>{}</dd></div>\n", escape_html(fact.name), escape_html(fact.value));
  }
  return html + "</dl>\n</section>\n";
}

}  // namespace

std::string render_html(const Report& report) {
  Page page;
  std::string sections;
  for (std::size_t i = 0; i < report.sections.size(); ++i) {
    sections += page.section(report.sections[i], i + 1);
  }
  return fill_template(page_template(),
                       {{"policy", content_security_policy()},
                        {"title", escape_html(report.title)},
                        {"subtitle", escape_html(report.subtitle)},
                        {"key-figures", key_figures_html(report.key_figures)},
                        {"contents", contents_html(report)},
                        {"sections", sections},
                        {"provenance", provenance_html(report.provenance)},
                        {"style", std::string(page_style())},
                        {"data", page.chart_data()},
                        {"chart-library", std::string(chart_library())},
                        {"charts-script", std::string(charts_script())},
                        {"xy-charts-script", std::string(xy_charts_script())},
                        {"heatmap-script", std::string(heatmap_script())},
                        {"page-script", std::string(page_script())}});
}

}  // namespace carpool::report
