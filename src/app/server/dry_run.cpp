#include "app/server/dry_run.hpp"

#include <nlohmann/json.hpp>

#include "app/cli/exit_code.hpp"
#include "app/output/job_text.hpp"

namespace carpool::app {

using nlohmann::json;

// A user who may not have the job gets the exit code of the refused submission.
Result<void> print_dry_run(ServerClient& server,
                           const json& job,
                           bool hold,
                           const std::string& estimated,
                           const CommandContext& context) {
  return server.post(hold ? "/v1/dry-run?hold=1" : "/v1/dry-run", job).map([&](json answer) {
    if (context.output.json()) {
      if (!estimated.empty()) {
        answer["estimate"] = estimated;
      }
      context.output.print_json(answer);
    } else {
      context.output.print(dry_run_text(answer, estimated));
    }
    if (!answer.value("accepted", false)) {
      context.exit_code = kExitFailure;
    }
  });
}

}  // namespace carpool::app
