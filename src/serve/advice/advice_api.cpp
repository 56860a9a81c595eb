// The operations of the API that answer why, and what if; nothing here changes anything.
#include <utility>

#include <nlohmann/json.hpp>

#include "schedule/advice/dry_run.hpp"
#include "serve/advice/dry_run_view.hpp"
#include "serve/advice/explanation_view.hpp"
#include "serve/job_api.hpp"
#include "serve/job_reason.hpp"
#include "serve/scheduler_look.hpp"

namespace carpool::serve {

using nlohmann::json;

ApiAnswer JobApi::explain(const Caller& caller, JobId job) {
  return json_answer(
      look<json>(parts_.loop, [&](schedule::Scheduler& scheduler, double) -> Result<json> {
        return own_job(scheduler, caller, job).map([&](const JobRecord& record) {
          const schedule::Explanation explanation = schedule::explain(scheduler, record);
          json view = explanation_view(explanation, record);
          if (explanation.binding) {
            view["constraint"] = constraint_of(scheduler, record, *explanation.binding);
          }
          return view;
        });
      }));
}

ApiAnswer JobApi::dry_run(const Caller& caller, std::string_view body, const ApiQuery& query) {
  const FairShare::Held held = hold_for_parsing(caller, body);
  if (!held) {
    return memory_in_use();
  }
  const Result<std::vector<JobSpec>> specs = read_submission(caller, body);
  if (!specs) {
    return error_answer(specs.error());
  }
  const JobOwner owner{.uid = caller.uid, .user = caller.user};
  return json_answer(
      look<json>(parts_.loop, [&](const schedule::Scheduler& scheduler, double) -> Result<json> {
        Result<void> place = scheduler.has_place(owner, specs->size());
        if (place) {
          place = queue_memory_.check(scheduler, caller.uid, *specs);
        }
        return schedule::dry_run(scheduler, specs->front(), owner, flag_of(query, "hold"))
            .map([&](const schedule::DryRun& answer) {
              return dry_run_view(answer, scheduler, caller, specs->size(), place);
            });
      }));
}

}  // namespace carpool::serve
