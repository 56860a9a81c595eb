#include "app/launch/server_note.hpp"

#include <nlohmann/json.hpp>

#include "base/log.hpp"

namespace carpool::app {

void note_shortcomings(ServerClient& server, const nlohmann::json& request) {
  const Result<nlohmann::json> status = server.get("/v1/status");
  if (!status) {
    return;
  }
  if (status->value("mode", "") == "simulated") {
    log_warning("the server simulates its GPUs: the program is not run");
  } else if (request.contains("slo_ms") && !status->value("library", false)) {
    log_warning(
        "the server does not keep latencies: jobs of the class best-effort do not wait for "
        "requests of this one, for it runs without the library in front of the driver. Its log and "
        "carpool doctor tell why");
  }
}

}  // namespace carpool::app
