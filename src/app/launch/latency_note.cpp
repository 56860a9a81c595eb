#include "app/launch/latency_note.hpp"

#include <nlohmann/json.hpp>

#include "base/log.hpp"

namespace carpool::app {

void note_unkept_latency(ServerClient& server, const nlohmann::json& request) {
  if (!request.contains("slo_ms")) {
    return;
  }
  const Result<nlohmann::json> status = server.get("/v1/status");
  if (status && status->value("mode", "") == "gpus" && !status->value("library", false)) {
    log_warning(
        "the server does not keep latencies: jobs of the class best-effort do not wait for "
        "requests of this one, for it runs without the library in front of the driver. Its log and "
        "carpool doctor tell why");
  }
}

}  // namespace carpool::app
