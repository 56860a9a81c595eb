#include "serve/explanation.hpp"

#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/job_names.hpp"

namespace carpool::serve {
namespace {

using nlohmann::json;

template <class T>
void put(json& object, const char* key, const std::optional<T>& value) {
  if (value) {
    object[key] = *value;
  }
}

json candidate_view(const schedule::CandidateGpu& candidate) {
  json view = {{"gpu", candidate.gpu},
               {"memory_bytes", candidate.memory_bytes},
               {"free_bytes", candidate.free_bytes},
               {"jobs", candidate.residents},
               {"possible", candidate.takes_it},
               {"reason", candidate.reason}};
  put(view, "predicted_progress", candidate.job_progress);
  put(view, "worst_neighbour_progress", candidate.worst_neighbour);
  return view;
}

std::string_view change_name(schedule::StartingChange::Kind kind) {
  switch (kind) {
    case schedule::StartingChange::Kind::Order:
      return "order";
    case schedule::StartingChange::Kind::LessMemory:
      return "mem";
    case schedule::StartingChange::Kind::NotExclusive:
      return "exclusive";
    case schedule::StartingChange::Kind::FewerGpus:
      return "gpus";
    case schedule::StartingChange::Kind::Wait:
      break;
  }
  return "wait";
}

json change_view(const schedule::StartingChange& change) {
  json view = {{"change", change_name(change.kind)}, {"text", change.words}};
  put(view, "mem_bytes", change.need_bytes);
  put(view, "gpus", change.gpus);
  put(view, "wait_s", change.wait_s);
  put(view, "until_job", change.until_ends);
  return view;
}

}  // namespace

json explanation_view(const schedule::Explanation& explanation, const JobRecord& job) {
  json view = {{"id", job.id},
               {"state", name_of(job.state)},
               {"code", job.code()},
               {"summary", explanation.summary},
               {"candidates", json::array()},
               {"changes", json::array()}};
  if (explanation.binding) {
    view["constraint"] = name_of(explanation.binding->constraint);
    view["reason"] = explanation.binding->reason;
  }
  for (const schedule::CandidateGpu& candidate : explanation.candidates) {
    view["candidates"].push_back(candidate_view(candidate));
  }
  for (const schedule::StartingChange& change : explanation.changes) {
    view["changes"].push_back(change_view(change));
  }
  if (explanation.placed) {
    json placed = {{"gpus", explanation.placed->gpus},
                   {"mechanism", name_of(explanation.placed->mechanism)},
                   {"thread_limit_percent", explanation.placed->thread_limit},
                   {"reserved_bytes", explanation.placed->reserved_bytes},
                   {"reason", explanation.placed->reason}};
    put(placed, "predicted_progress", explanation.placed->predicted_progress);
    view["placed"] = placed;
  }
  return view;
}

}  // namespace carpool::serve
