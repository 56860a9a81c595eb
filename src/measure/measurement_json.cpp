#include "measure/measurement_json.hpp"

#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text/json_integer.hpp"
#include "gpu/replay/gpu_json.hpp"

namespace carpool::measure {
namespace {

using nlohmann::json;

template <class Value>
void put(json& object, const char* key, const std::optional<Value>& value) {
  if (value) {
    object[key] = *value;
  }
}

template <class Value>
void take(const json& object, const char* key, std::optional<Value>& value) {
  if (object.contains(key)) {
    value = object.at(key).get<Value>();
  }
}

json member_object(const MemberResult& member, bool failed) {
  json out = {{"workload", member.workload}, {"pct", member.thread_percentage}};
  if (member.low_priority) {
    out["low_priority"] = true;
  }
  if (!failed) {
    out["thr"] = member.throughput;
    out["steps_per_second"] = member.steps.steps_per_second;
    out["steps"] = member.steps.steps;
    out["p50"] = member.steps.p50;
    out["p95"] = member.steps.p95;
    out["p99"] = member.steps.p99;
  }
  put(out, "memory_bytes", member.memory_bytes);
  return out;
}

MemberResult member_from(const json& object, bool failed) {
  MemberResult out;
  out.workload = object.at("workload").get<std::string>();
  out.thread_percentage = object.at("pct").get<double>();
  out.low_priority = object.value("low_priority", false);
  if (!failed) {
    out.throughput = object.at("thr").get<double>();
    out.steps.steps_per_second = object.at("steps_per_second").get<double>();
    out.steps.steps = integer_from<std::uint64_t>(object.at("steps"));
    out.steps.p50 = object.at("p50").get<double>();
    out.steps.p95 = object.at("p95").get<double>();
    out.steps.p99 = object.at("p99").get<double>();
  }
  take(object, "memory_bytes", out.memory_bytes);
  return out;
}

}  // namespace

json to_json_object(const Measurement& measurement) {
  const bool failed = measurement.failure.has_value();
  json out = {{"key", measurement.key},
              {"table", measurement.table},
              {"mechanism", measurement.mechanism},
              {"repeat", measurement.repeat},
              {"at", measurement.at},
              {"seconds", measurement.seconds},
              {"spent_seconds", measurement.spent_seconds},
              {"members", json::array()}};
  for (const MemberResult& member : measurement.members) {
    out["members"].push_back(member_object(member, failed));
  }
  if (failed) {
    out["failure"] = {{"reason", measurement.failure->reason},
                      {"message", measurement.failure->message}};
  }
  out["activity"] = gpu::to_json(measurement.activity);
  put(out, "gpu_utilisation", measurement.gpu_utilisation);
  put(out, "memory_utilisation", measurement.memory_utilisation);
  put(out, "power_watts", measurement.power_watts);
  put(out, "energy_joules", measurement.energy_joules);
  put(out, "sm_clock_mhz", measurement.sm_clock_mhz);
  if (!measurement.throttle_reasons.empty()) {
    out["throttle_reasons"] = measurement.throttle_reasons;
  }
  return out;
}

Measurement measurement_from(const json& object) {
  Measurement out;
  out.key = object.at("key").get<std::string>();
  out.table = object.at("table").get<std::string>();
  out.mechanism = object.at("mechanism").get<std::string>();
  out.repeat = integer_from<std::size_t>(object.at("repeat"));
  out.at = object.at("at").get<std::string>();
  out.seconds = object.at("seconds").get<double>();
  out.spent_seconds = object.at("spent_seconds").get<double>();
  if (object.contains("failure")) {
    out.failure = Failure{.reason = object.at("failure").at("reason").get<std::string>(),
                          .message = object.at("failure").at("message").get<std::string>()};
  }
  for (const json& member : object.at("members")) {
    out.members.push_back(member_from(member, out.failure.has_value()));
  }
  auto activity = gpu::gpu_activity_from_json(object.at("activity"));
  if (!activity) {
    throw std::invalid_argument(activity.error().message);  // as the library does; see the header
  }
  out.activity = std::move(*activity);
  take(object, "gpu_utilisation", out.gpu_utilisation);
  take(object, "memory_utilisation", out.memory_utilisation);
  take(object, "power_watts", out.power_watts);
  take(object, "energy_joules", out.energy_joules);
  take(object, "sm_clock_mhz", out.sm_clock_mhz);
  out.throttle_reasons = object.value("throttle_reasons", std::vector<std::string>());
  return out;
}

}  // namespace carpool::measure
