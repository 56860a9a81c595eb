#include "app/launch/server_note.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/log.hpp"
#include "core/environment.hpp"
#include "core/latency.hpp"
#include "interpose/gate/policy.hpp"
#include "policy/policy_registry.hpp"

namespace carpool::app {

using nlohmann::json;

namespace {

// The server has accepted the request: its variables are texts.
Environment::Map variables_of(const json& request) {
  return request.value("env", Environment::Map());
}

std::string of_slo(const json& status, const json& request) {
  if (!request.contains("slo_ms")) {
    return "class slo without a latency: jobs of class best-effort do not wait for requests of "
           "this one, and none is measured; --slo LATENCY says what is to be kept";
  }
  if (!status.value("library", false)) {
    return "the server does not keep latencies: jobs of the class best-effort do not wait for "
           "requests of this one, for it runs without the library in front of the driver. Its log "
           "and carpool doctor tell why";
  }
  const bool several = request.value("gpus", 1) > 1 &&
                       !policy::default_settings(status.value("policy", "carpool")).share_several;
  if (request.value("exclusive", false) || several) {
    return fmt::format(
        "{} shares its GPUs with no other job, and runs without the library in front of the "
        "driver: the latency of its requests is not measured",
        several ? "a job on several GPUs" : "an exclusive job");
  }
  if (!accepts_shim(variables_of(request))) {
    return "the environment of this job keeps the library in front of the driver out "
           "(CARPOOL_SHIM=off, or another one in LD_PRELOAD): its latency is not measured, and "
           "jobs of class best-effort do not wait for its requests";
  }
  return {};
}

std::string of_best_effort(const json& status, const json& request) {
  const Environment::Map variables = variables_of(request);
  const auto named = variables.find(kGatePolicyVariable);
  const interpose::gate::Policy* const policy =
      named == variables.end() ? nullptr : interpose::gate::choose_policy(named->second).policy;
  if (policy == nullptr || !policy->needs_mps || !status.value("library", false) ||
      status.value("slo_in_mps", true)) {
    return {};
  }
  return fmt::format(
      "the gate policy {0} works beside a job with an SLO that is a client of MPS, and this server "
      "runs such jobs outside of MPS: {1} takes the place of {0}",
      policy->name,
      interpose::gate::policies().front().name);
}

}  // namespace

std::string shortcoming(const json& status, const json& request) {
  if (status.value("mode", "") == "simulated") {
    return "the server simulates its GPUs: the program is not run";
  }
  const std::string job_class = request.value("class", "normal");
  return job_class == "slo"           ? of_slo(status, request)
         : job_class == "best-effort" ? of_best_effort(status, request)
                                      : std::string();
}

void note_shortcoming(ServerClient& server, const json& request) {
  const Result<json> status = server.get("/v1/status");
  const std::string found = status ? shortcoming(*status, request) : std::string();
  if (!found.empty()) {
    log_warning(found);
  }
}

}  // namespace carpool::app
