#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gpu/replay/object_reader.hpp"
#include "profile/timeline_json.hpp"
#include "profile/workload_profile.hpp"

namespace carpool::profile {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "carpool-profile";
constexpr std::uint64_t kProfileVersion = 1;

json steps_json(const StepEstimate& steps) {
  return {{"source", steps.source},
          {"steps_per_second", steps.steps_per_second},
          {"units_per_step", steps.units_per_step},
          {"steps", steps.steps},
          {"p50_seconds", steps.p50_seconds},
          {"p95_seconds", steps.p95_seconds},
          {"confidence", steps.confidence},
          {"launches_per_step", steps.launches_per_step}};
}

Result<StepEstimate> steps_from(const json& in) {
  gpu::ObjectReader reader(in, "steps");
  StepEstimate steps;
  steps.source = reader.text("source");
  steps.steps_per_second = reader.number("steps_per_second");
  steps.units_per_step = reader.number("units_per_step");
  steps.steps = reader.number("steps");
  steps.p50_seconds = reader.number("p50_seconds");
  steps.p95_seconds = reader.number("p95_seconds");
  steps.confidence = reader.number("confidence");
  steps.launches_per_step = reader.number("launches_per_step");
  return reader.finish(std::move(steps));
}

Result<ProfiledThroughput> throughput_from(const json& in) {
  gpu::ObjectReader reader(in, "throughput");
  ProfiledThroughput out{.value = reader.number("value"),
                         .unit = reader.text("unit"),
                         .source = reader.text("source")};
  return reader.finish(std::move(out));
}

std::string one_line(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// One line per key, also of objects one level down: short, and readable in a diff.
std::string in_lines(const json& object) {
  std::string out = "{";
  for (const auto& [key, value] : object.items()) {
    out += fmt::format("{}\n {}: ", out.size() > 1 ? "," : "", one_line(key));
    if (!value.is_object() || value.empty()) {
      out += one_line(value);
      continue;
    }
    std::string inner;
    for (const auto& [name, part] : value.items()) {
      inner +=
          fmt::format("{}\n  {}: {}", inner.empty() ? "" : ",", one_line(name), one_line(part));
    }
    out += fmt::format("{{{}\n }}", inner);
  }
  return out + "\n}\n";
}

Metrics numbers(gpu::ObjectReader& reader, const char* key) {
  Metrics out;
  const json* found = reader.object(key);
  const json object = found == nullptr ? json::object() : *found;
  for (const auto& [name, value] : object.items()) {
    if (!value.is_number() || !std::isfinite(value.get<double>())) {
      reader.problem(key, fmt::format("{}: expected a number", name));
      break;
    }
    out.emplace(name, value.get<double>());
  }
  return out;
}

// May be below 0: sensors and clocks vary between the two runs that it compares.
std::optional<double> read_slowdown(gpu::ObjectReader& reader) {
  const json* found = reader.maybe("slowdown");
  if (found == nullptr) {
    return std::nullopt;
  }
  if (!found->is_number() || !std::isfinite(found->get<double>())) {
    reader.problem("slowdown", "expected a number");
    return std::nullopt;
  }
  return found->get<double>();
}

std::vector<TelemetryPoint> read_timeline(gpu::ObjectReader& reader) {
  const json* found = reader.object("timeline");
  auto points = timeline_from_json(found == nullptr ? json::object() : *found);
  if (!points) {
    reader.problem("timeline", points.error().message);
  }
  return points.value_or(std::vector<TelemetryPoint>());
}

Result<WorkloadProfile> profile_from(const json& in) {
  gpu::ObjectReader reader(in, "profile");
  if (reader.text("format") != kFormat || reader.count("version") != kProfileVersion) {
    reader.problem("format",
                   fmt::format("expected \"{}\" of version {}", kFormat, kProfileVersion));
  }
  WorkloadProfile profile;
  profile.workload = reader.text("workload");
  profile.command = reader.texts("command");
  profile.gpu = reader.text("gpu");
  profile.driver = reader.text("driver");
  profile.recorded = reader.text("recorded");
  profile.startup_seconds = reader.number("startup_seconds");
  profile.window_seconds = reader.number("window_seconds");
  profile.slowdown = read_slowdown(reader);
  profile.metrics = numbers(reader, "metrics");
  profile.substitute_metrics = reader.text_map("stand_ins");
  profile.counters = numbers(reader, "counters");
  profile.ncu = numbers(reader, "ncu");
  profile.timeline = read_timeline(reader);
  profile.notes = reader.texts("notes");
  if (const json* throughput = reader.maybe("throughput"); throughput != nullptr) {
    auto read = throughput_from(*throughput);
    if (!read) {
      return tl::unexpected(std::move(read.error()));
    }
    profile.throughput = std::move(*read);
  }
  const json* steps = reader.array("steps");
  for (const json& item : steps == nullptr ? json::array() : *steps) {
    auto read = steps_from(item);
    if (!read) {
      return tl::unexpected(std::move(read.error()));
    }
    profile.steps.push_back(std::move(*read));
  }
  if (!is_profile_name(profile.workload)) {
    reader.problem("workload", "expected a name of letters, digits, '.', '_' and '-'");
  }
  return reader.finish(std::move(profile));
}

}  // namespace

std::string profile_json(const WorkloadProfile& profile) {
  json out = {{"format", kFormat},
              {"version", kProfileVersion},
              {"workload", profile.workload},
              {"command", profile.command},
              {"gpu", profile.gpu},
              {"driver", profile.driver},
              {"recorded", profile.recorded},
              {"startup_seconds", shortened(profile.startup_seconds)},
              {"window_seconds", shortened(profile.window_seconds)},
              {"steps", json::array()},
              {"metrics", profile.metrics},
              {"stand_ins", profile.substitute_metrics},
              {"counters", profile.counters},
              {"ncu", profile.ncu},
              {"timeline", timeline_to_json(profile.timeline)},
              {"notes", profile.notes}};
  if (profile.throughput) {
    out["throughput"] = {{"value", profile.throughput->value},
                         {"unit", profile.throughput->unit},
                         {"source", profile.throughput->source}};
  }
  if (profile.slowdown) {
    out["slowdown"] = shortened(*profile.slowdown);
  }
  for (const StepEstimate& steps : profile.steps) {
    out["steps"].push_back(steps_json(steps));
  }
  return in_lines(out);
}

Result<WorkloadProfile> parse_profile(std::string_view text, const std::string& file) {
  const json in = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (in.is_discarded()) {
    return fail(ErrorCode::Corrupt, fmt::format("{} is not JSON or is incomplete", file));
  }
  auto profile = profile_from(in);
  if (!profile) {
    return fail(profile.error().code, fmt::format("{}: {}", file, profile.error().message));
  }
  return profile;
}

}  // namespace carpool::profile
