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
constexpr std::uint64_t kVersion = 1;
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
  gpu::ObjectReader reader(in, "an entry of steps");
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

// A line a key, also of objects one level down: short, and readable in a comparison of versions.
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

// Takes apart what ObjectReader has no words for, and tells it of what is wrong.
class Parts {
 public:
  explicit Parts(gpu::ObjectReader& reader) : reader_(reader) {}

  std::vector<std::string> texts(const char* key) {
    std::vector<std::string> out;
    const json* list = reader_.array(key);
    for (const json& item : list == nullptr ? json::array() : *list) {
      if (!item.is_string()) {
        reader_.refuse(fmt::format("has something else than texts under the key \"{}\"", key));
        break;
      }
      out.push_back(item.get<std::string>());
    }
    return out;
  }

  Metrics numbers(const char* key) {
    Metrics out;
    for (const auto& [name, value] : object(key).items()) {
      if (!value.is_number() || !std::isfinite(value.get<double>())) {
        reader_.refuse(fmt::format("has no number for \"{}\" under the key \"{}\"", name, key));
        break;
      }
      out.emplace(name, value.get<double>());
    }
    return out;
  }

  std::optional<double> maybe_signed(const char* key) {
    const json* found = reader_.maybe(key);
    if (found == nullptr) {
      return std::nullopt;
    }
    if (!found->is_number() || !std::isfinite(found->get<double>())) {
      reader_.refuse(fmt::format("has no number under the key \"{}\"", key));
      return std::nullopt;
    }
    return found->get<double>();
  }

  std::map<std::string, std::string> words(const char* key) {
    std::map<std::string, std::string> out;
    for (const auto& [name, value] : object(key).items()) {
      if (!value.is_string()) {
        reader_.refuse(fmt::format("has no text for \"{}\" under the key \"{}\"", name, key));
        break;
      }
      out.emplace(name, value.get<std::string>());
    }
    return out;
  }

  std::vector<TelemetryPoint> timeline(const char* key) {
    auto points = timeline_from_json(object(key));
    if (!points) {
      reader_.refuse(points.error().message);
    }
    return points.value_or(std::vector<TelemetryPoint>());
  }

 private:
  const json& object(const char* key) {
    static const json nothing = json::object();
    const json* found = reader_.maybe(key);
    if (found == nullptr || !found->is_object()) {
      reader_.refuse(fmt::format("has no object under the key \"{}\"", key));
      return nothing;
    }
    return *found;
  }

  gpu::ObjectReader& reader_;
};

Result<WorkloadProfile> profile_from(const json& in) {
  gpu::ObjectReader reader(in, "the profile");
  Parts parts(reader);
  if (reader.text("format") != kFormat || reader.count("version") != kVersion) {
    reader.refuse(fmt::format("is not \"{}\" of version {}", kFormat, kVersion));
  }
  WorkloadProfile profile;
  profile.workload = reader.text("workload");
  profile.command = parts.texts("command");
  profile.gpu = reader.text("gpu");
  profile.driver = reader.text("driver");
  profile.recorded = reader.text("recorded");
  profile.startup_seconds = reader.number("startup_seconds");
  profile.window_seconds = reader.number("window_seconds");
  profile.slowdown = parts.maybe_signed("slowdown");
  profile.metrics = parts.numbers("metrics");
  profile.stand_ins = parts.words("stand_ins");
  profile.counters = parts.numbers("counters");
  profile.ncu = parts.numbers("ncu");
  profile.timeline = parts.timeline("timeline");
  profile.notes = parts.texts("notes");
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
    reader.refuse("has no name under the key \"workload\"");
  }
  return reader.finish(std::move(profile));
}

}  // namespace

std::string profile_json(const WorkloadProfile& profile) {
  json out = {{"format", kFormat},
              {"version", kVersion},
              {"workload", profile.workload},
              {"command", profile.command},
              {"gpu", profile.gpu},
              {"driver", profile.driver},
              {"recorded", profile.recorded},
              {"startup_seconds", shortened(profile.startup_seconds)},
              {"window_seconds", shortened(profile.window_seconds)},
              {"steps", json::array()},
              {"metrics", profile.metrics},
              {"stand_ins", profile.stand_ins},
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
    return fail(ErrorCode::Corrupt, fmt::format("{} is no JSON, or cut off", file));
  }
  auto profile = profile_from(in);
  if (!profile) {
    return fail(profile.error().code, fmt::format("{}: {}", file, profile.error().message));
  }
  return profile;
}

}  // namespace carpool::profile
