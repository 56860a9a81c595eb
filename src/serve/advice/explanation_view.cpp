#include "serve/advice/explanation_view.hpp"

#include <optional>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/job_names.hpp"
#include "schedule/advice/belief_words.hpp"

namespace carpool::serve {
namespace {

using nlohmann::json;

template <class T>
void put_known(json& object, const char* key, const std::optional<T>& value) {
  if (value) {
    object[key] = *value;
  }
}

void add_belief(json& view, const schedule::Explanation& explanation) {
  if (explanation.activity.empty()) {
    return;
  }
  json belief = {{"activity", explanation.activity}, {"memory", explanation.memory}};
  if (explanation.belief) {
    belief["sm_active_ratio"] = explanation.belief->sm_active;
    belief["sm_active_low"] = explanation.belief->sm_active90.low;
    belief["sm_active_high"] = explanation.belief->sm_active90.high;
    belief["measured_s"] = explanation.belief->measured_s;
    if (explanation.belief->window) {
      belief["kernel_window_sm_active"] = explanation.belief->window->sm_active;
    }
    put_known(belief, "solo_rate", explanation.belief->solo_rate);
  }
  if (explanation.progress) {
    belief["prediction"] = forecast_view(*explanation.progress);
  }
  view["belief"] = std::move(belief);
}

std::string_view latency_basis_name(LatencyForecast::Basis basis) {
  switch (basis) {
    case LatencyForecast::Basis::Gate:
      return "gate";
    case LatencyForecast::Basis::Interference:
      return "interference";
    case LatencyForecast::Basis::Slices:
      return "slices";
    case LatencyForecast::Basis::Measured:
      break;
  }
  return "measured";
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

}  // namespace

json forecast_view(const ProgressForecast& forecast) {
  return {{"progress", forecast.progress},
          {"low", forecast.interval90.low},
          {"high", forecast.interval90.high},
          {"text", schedule::forecast_words(forecast)}};
}

json latency_view(const LatencyForecast& forecast, const LatencyGoal& goal) {
  return {{"slo_ms", goal.slo_ms},
          {"quantile", goal.quantile},
          {"p50_ms", forecast.p50_ms},
          {"p50_low_ms", forecast.p50_90.low},
          {"p50_high_ms", forecast.p50_90.high},
          {"tail_ms", forecast.tail_ms},
          {"tail_low_ms", forecast.tail90.low},
          {"tail_high_ms", forecast.tail90.high},
          {"basis", latency_basis_name(forecast.basis)},
          {"requests", forecast.requests},
          {"text", schedule::latency_words(forecast, goal.quantile)}};
}

json candidate_view(const schedule::CandidateGpu& candidate) {
  json view = {{"gpu", candidate.gpu},
               {"memory_bytes", candidate.memory_bytes},
               {"free_bytes", candidate.free_bytes},
               {"jobs", candidate.residents},
               {"possible", candidate.takes_it},
               {"reason", candidate.reason}};
  if (candidate.forecast) {
    view["predicted_progress"] = candidate.forecast->progress;
    view["prediction"] = forecast_view(*candidate.forecast);
  }
  put_known(view, "worst_neighbour_progress", candidate.worst_neighbour);
  for (const schedule::GroupLatency& one : candidate.latencies) {
    json latency = latency_view(one.forecast, one.goal);
    latency["job"] = one.job;
    view["latencies"].push_back(std::move(latency));
  }
  return view;
}

json change_view(const schedule::StartingChange& change) {
  json view = {{"change", change_name(change.kind)}, {"text", change.words}};
  put_known(view, "mem_bytes", change.need_bytes);
  put_known(view, "gpus", change.gpus);
  put_known(view, "wait_s", change.wait_s);
  put_known(view, "until_job", change.until_ends);
  return view;
}

namespace {

// What was predicted when the group of the job came together, and measured since.
void add_latency(json& view, const schedule::Explanation& explanation) {
  if (explanation.latency.empty()) {
    return;
  }
  json latency = {{"text", explanation.latency},
                  {"slo_ms", explanation.goal.slo_ms},
                  {"quantile", explanation.goal.quantile}};
  if (const auto& watched = explanation.watched) {
    if (watched->predicted) {
      latency["prediction"] = latency_view(*watched->predicted, explanation.goal);
    }
    latency["requests"] = watched->requests;
    if (watched->tail_ms > 0.0) {
      latency["p50_ms"] = watched->p50_ms;
      latency["tail_ms"] = watched->tail_ms;
    }
  }
  view["latency"] = std::move(latency);
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
    put_known(placed, "predicted_progress", explanation.placed->predicted_progress);
    view["placed"] = placed;
  }
  add_belief(view, explanation);
  add_latency(view, explanation);
  if (explanation.lesson) {
    view["lesson"] = {{"assumed", explanation.lesson->assumed},
                      {"changes", explanation.lesson->changes},
                      {"command", explanation.lesson->command}};
  }
  return view;
}

}  // namespace carpool::serve
