// The lines of one metric on the page that Prometheus scrapes. Internal to metrics.cpp.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "serve/metrics/histogram.hpp"
#include "serve/metrics/metrics.hpp"

namespace carpool::serve {

class Samples {
 public:
  explicit Samples(const MetricInfo& metric) : metric_(metric) {}

  template <class Number>
  void add(std::initializer_list<std::string_view> label_values, Number value) {
    std::string labels;
    auto name = metric_.labels.begin();
    for (const std::string_view label : label_values) {
      labels += fmt::format("{}{}=\"{}\"", labels.empty() ? "" : ",", *name++, escaped(label));
    }
    text_ += labels.empty() ? fmt::format("{} {}\n", metric_.name, value)
                            : fmt::format("{}{{{}}} {}\n", metric_.name, labels, value);
  }
  void add(const Histogram& histogram) { text_ += histogram.text(metric_.name); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  [[nodiscard]] static std::string escaped(std::string_view text) {
    std::string safe;
    for (const char c : text) {
      if (c == '\\' || c == '"') {
        safe += '\\';
      }
      if (c == '\n') {
        safe += "\\n";
      } else {
        safe += c;
      }
    }
    return safe;
  }

  const MetricInfo& metric_;
  std::string text_;
};

}  // namespace carpool::serve
