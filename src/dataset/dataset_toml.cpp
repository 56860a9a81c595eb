#include "dataset/dataset_toml.hpp"

#include <utility>

#include "base/text/strict_table.hpp"

namespace carpool::dataset {
namespace {

Result<Combine> parse_combine(std::string_view name) {
  if (name == "sum") {
    return Combine::Sum;
  }
  if (name == "mean") {
    return Combine::Mean;
  }
  return invalid_input(R"(expected "sum" or "mean")");
}

// NAME = "sum", NAME = "mean" or NAME = { combine = …, group = … }.
DeclaredMetric read_metric(StrictTable& table, const std::string& name) {
  DeclaredMetric declared{.metric = {.name = name, .combine = default_combine(name), .group = {}},
                          .line = table.line_of(name)};
  MetricInfo& metric = declared.metric;
  if (table.is_table(name)) {
    table.read_tables(name, [&metric](StrictTable& inner) {
      inner.read_name("combine", parse_combine, metric.combine);
      inner.read("group", metric.group);
    });
  } else {
    table.read_name(name, parse_combine, metric.combine);
  }
  return declared;
}

void read_settings(StrictTable& table, DatasetSettings& settings) {
  table.read("gpu", settings.info.gpu);
  table.read("driver", settings.info.driver);
  table.read("throughput_unit", settings.info.throughput_unit);
  table.read("provenance", settings.info.provenance);
  if (table.has("metrics") && !table.is_table("metrics")) {
    table.problem("metrics", "expected a section, [metrics]");
  }
  table.read_tables("metrics", [&settings](StrictTable& metrics) {
    settings.metrics.emplace();
    for (const std::string& name : metrics.keys()) {
      settings.metrics->push_back(read_metric(metrics, name));
    }
  });
}

}  // namespace

Combine default_combine(std::string_view metric) {
  const bool percentage =
      metric.find("pct") != std::string_view::npos || metric.find('%') != std::string_view::npos;
  return percentage ? Combine::Mean : Combine::Sum;
}

Result<DatasetSettings> parse_dataset_toml(std::string_view text, const std::string& file) {
  DatasetSettings settings{.file = file, .info = {}, .metrics = std::nullopt};
  return read_toml(text, file, [&settings](StrictTable& table) { read_settings(table, settings); })
      .map([&settings] { return std::move(settings); });
}

}  // namespace carpool::dataset
