#include "profile/timeline_json.hpp"

#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace carpool::profile {
namespace {

using nlohmann::json;

constexpr std::size_t kMostPoints = 100'000;

using PointField = std::optional<double> TelemetryPoint::*;
using ActivityField = std::optional<double> GpuActivity::*;

constexpr std::array<std::pair<const char*, PointField>, 5> kPointFields = {{
    {"gpu_utilisation", &TelemetryPoint::gpu_utilisation},
    {"memory_utilisation", &TelemetryPoint::memory_utilisation},
    {"power_watts", &TelemetryPoint::power_watts},
    {"sm_clock_mhz", &TelemetryPoint::sm_clock_mhz},
    {"memory_gib", &TelemetryPoint::memory_gib},
}};
constexpr std::array<std::pair<const char*, ActivityField>, 5> kActivityFields = {{
    {"graphics_active", &GpuActivity::graphics_active},
    {"sm_active", &GpuActivity::sm_active},
    {"sm_occupancy", &GpuActivity::sm_occupancy},
    {"dram_active", &GpuActivity::dram_active},
    {"tensor_active", &GpuActivity::tensor_active},
}};

Result<std::optional<double>> cell(const json& columns,
                                   const char* name,
                                   std::size_t i,
                                   std::size_t size) {
  const auto column = columns.find(name);
  if (column == columns.end()) {
    return std::nullopt;
  }
  if (!column->is_array() || column->size() != size ||
      !((*column)[i].is_number() || (*column)[i].is_null())) {
    return fail(ErrorCode::Corrupt,
                fmt::format("{}: expected a list of {} numbers or nulls", name, size));
  }
  return (*column)[i].is_null() ? std::nullopt : std::optional((*column)[i].get<double>());
}

}  // namespace

double shortened(double value) {
  if (value == 0.0) {
    return 0.0;
  }
  const double scale = std::pow(10.0, 5.0 - std::ceil(std::log10(std::abs(value))));
  return std::isfinite(scale) ? std::round(value * scale) / scale : value;
}

json timeline_to_json(const std::vector<TelemetryPoint>& points) {
  json out = json::object();
  for (const TelemetryPoint& point : points) {
    out["seconds"].push_back(shortened(point.seconds));
  }
  const auto add = [&](const char* name, auto value_of) {
    json list = json::array();
    bool any = false;
    for (const TelemetryPoint& point : points) {
      const std::optional<double> value = value_of(point);
      any = any || value.has_value();
      list.push_back(value ? json(shortened(*value)) : json());
    }
    if (any) {
      out[name] = std::move(list);
    }
  };
  for (const auto& [name, field] : kPointFields) {
    add(name, [member = field](const TelemetryPoint& point) { return point.*member; });
  }
  for (const auto& [name, field] : kActivityFields) {
    add(name, [member = field](const TelemetryPoint& point) { return point.activity.*member; });
  }
  return out;
}

Result<std::vector<TelemetryPoint>> timeline_from_json(const json& columns) {
  const auto seconds = columns.find("seconds");
  const std::size_t size = seconds != columns.end() && seconds->is_array() ? seconds->size() : 0;
  if (size > kMostPoints) {
    return fail(ErrorCode::Corrupt, fmt::format("more than {} readings", kMostPoints));
  }
  std::vector<TelemetryPoint> points(size);
  std::optional<Error> problem;
  for (std::size_t i = 0; i < size; ++i) {
    const auto read = [&](const char* name) -> std::optional<double> {
      auto value = cell(columns, name, i, size);
      if (!value) {
        problem = std::move(value.error());
        return std::nullopt;
      }
      return *value;
    };
    points[i].seconds = read("seconds").value_or(0.0);
    for (const auto& [name, field] : kPointFields) {
      points[i].*field = read(name);
    }
    for (const auto& [name, field] : kActivityFields) {
      points[i].activity.*field = read(name);
    }
  }
  if (problem) {
    return tl::unexpected(std::move(*problem));
  }
  return points;
}

}  // namespace carpool::profile
