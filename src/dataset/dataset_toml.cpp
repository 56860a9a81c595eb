#include "dataset/dataset_toml.hpp"

#include <array>
#include <exception>
#include <utility>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "dataset/csv.hpp"

namespace carpool::dataset {
namespace {

tl::unexpected<Error> reject(std::string_view file, std::size_t line, std::string_view message) {
  return invalid_input(fmt::format("{}:{}: {}", file, line, message));
}

std::size_t line_of(const toml::key& key) {
  return key.source().begin.line;
}

tl::unexpected<Error> unknown_key(std::string_view file,
                                  const toml::key& key,
                                  std::string_view known) {
  return reject(
      file, line_of(key), fmt::format("unknown key {}; known: {}", quote(key.str()), known));
}

Result<Combine> parse_combine(std::string_view file,
                              const toml::key& metric,
                              const toml::node& node) {
  const auto text = node.value<std::string>();
  if (text == "sum") {
    return Combine::Sum;
  }
  if (text == "mean") {
    return Combine::Mean;
  }
  return reject(
      file,
      line_of(metric),
      fmt::format(R"(metric {}: expected combine = "sum" or "mean")", quote(metric.str())));
}

// NAME = "sum", NAME = "mean" or NAME = { combine = …, group = … }.
Result<DeclaredMetric> parse_metric(std::string_view file,
                                    const toml::key& name,
                                    const toml::node& node) {
  DeclaredMetric declared{.metric = {.name = std::string(name.str()),
                                     .combine = default_combine(name.str()),
                                     .group = {}},
                          .line = line_of(name)};
  const toml::table* const table = node.as_table();
  if (table == nullptr) {
    return parse_combine(file, name, node).map([&declared](Combine combine) {
      declared.metric.combine = combine;
      return declared;
    });
  }
  for (const auto& [key, value] : *table) {
    if (key.str() == "combine") {
      auto combine = parse_combine(file, name, value);
      if (!combine) {
        return tl::unexpected(std::move(combine.error()));
      }
      declared.metric.combine = *combine;
    } else if (key.str() == "group") {
      const auto group = value.value<std::string>();
      if (!group) {
        return reject(file,
                      line_of(key),
                      fmt::format("metric {}: group must be a string", quote(name.str())));
      }
      declared.metric.group = *group;
    } else {
      return unknown_key(file, key, "combine, group");
    }
  }
  return declared;
}

Result<std::vector<DeclaredMetric>> parse_metrics(std::string_view file,
                                                  const toml::key& section,
                                                  const toml::node& node) {
  const toml::table* const table = node.as_table();
  if (table == nullptr) {
    return reject(file, line_of(section), "metrics must be a section: [metrics]");
  }
  std::vector<DeclaredMetric> metrics;
  for (const auto& [name, value] : *table) {
    auto metric = parse_metric(file, name, value);
    if (!metric) {
      return tl::unexpected(std::move(metric.error()));
    }
    metrics.push_back(std::move(*metric));
  }
  return metrics;
}

Result<DatasetSettings> read_settings(const toml::table& root, const std::string& file) {
  DatasetSettings settings{.file = file, .info = {}, .metrics = std::nullopt};
  DatasetInfo& info = settings.info;
  const std::array<std::pair<std::string_view, std::string*>, 4> texts{
      {{"gpu", &info.gpu},
       {"driver", &info.driver},
       {"throughput_unit", &info.throughput_unit},
       {"provenance", &info.provenance}}};
  for (const auto& [key, value] : root) {
    if (key.str() == "metrics") {
      auto metrics = parse_metrics(settings.file, key, value);
      if (!metrics) {
        return tl::unexpected(std::move(metrics.error()));
      }
      settings.metrics = std::move(*metrics);
      continue;
    }
    std::string* target = nullptr;
    for (const auto& [name, field] : texts) {
      target = name == key.str() ? field : target;
    }
    if (target == nullptr) {
      return unknown_key(settings.file, key, "gpu, driver, throughput_unit, provenance, [metrics]");
    }
    const auto text = value.value<std::string>();
    if (!text) {
      return reject(
          settings.file, line_of(key), fmt::format("{} must be a string in quotes", key.str()));
    }
    *target = *text;
  }
  return settings;
}

}  // namespace

Combine default_combine(std::string_view metric) {
  const bool percentage =
      metric.find("pct") != std::string_view::npos || metric.find('%') != std::string_view::npos;
  return percentage ? Combine::Mean : Combine::Sum;
}

Result<DatasetSettings> parse_dataset_toml(std::string_view text, const std::string& file) {
  try {
    return read_settings(toml::parse(text), file);
  } catch (const toml::parse_error& problem) {
    return reject(file, problem.source().begin.line, problem.description());
  } catch (const std::exception& problem) {
    return invalid_input(fmt::format("{}: {}", file, problem.what()));
  }
}

}  // namespace carpool::dataset
