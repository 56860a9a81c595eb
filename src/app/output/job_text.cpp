#include "app/output/job_text.hpp"

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/output/gate_text.hpp"
#include "base/text/printable.hpp"
#include "serve/units.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

void line(std::string& text, std::string_view name, std::string_view value) {
  if (!value.empty()) {
    text += fmt::format("{:<12} {}\n", name, printable(value));
  }
}

std::string bytes_at(const json& object, const char* key) {
  return object.contains(key) ? serve::show_bytes(object.at(key).get<std::uint64_t>())
                              : std::string();
}

void time_line(std::string& text, std::string_view name, const json& object, const char* key) {
  if (object.contains(key)) {
    line(text, name, serve::show_time(object.at(key).get<double>()));
  }
}

std::string attempt_text(const json& attempt) {
  std::string text = fmt::format("attempt {:<4} GPU {}, {}",
                                 attempt.value("attempt", 0),
                                 fmt::join(attempt.at("gpus").get<std::vector<unsigned>>(), ","),
                                 attempt.value("mechanism", ""));
  if (attempt.contains("predicted_progress")) {
    text += fmt::format(", predicted {:.0f} % of its solo speed",
                        100.0 * attempt.at("predicted_progress").get<double>());
  }
  if (attempt.value("reserved_bytes", std::uint64_t{0}) > 0) {
    text += fmt::format(", {} reserved", bytes_at(attempt, "reserved_bytes"));
  }
  if (attempt.contains("cap_processes")) {
    text += fmt::format(", at most {} for each of {} processes",
                        bytes_at(attempt, "process_cap_bytes"),
                        attempt.value("cap_processes", 1U));
  }
  if (attempt.contains("peak_bytes")) {
    text += fmt::format(", peak {}", bytes_at(attempt, "peak_bytes"));
  }
  if (attempt.contains("ended_s")) {
    text += fmt::format(", {} after {}",
                        attempt.value("end", ""),
                        serve::show_seconds(attempt.at("ended_s").get<double>() -
                                            attempt.at("started_s").get<double>()));
    if (const std::string detail = attempt.value("detail", ""); !detail.empty()) {
      text += fmt::format("\n             {}", printable(detail));
    }
  }
  return text + "\n";
}

std::string percent_at(const json& object, const char* key) {
  return object.contains(key) ? fmt::format("{:.0f} %", 100.0 * object.at(key).get<double>())
                              : std::string("unknown");
}

std::string candidate_text(const json& candidate) {
  std::string text = fmt::format("  GPU {}: {} of {} unclaimed",
                                 candidate.value("gpu", 0),
                                 bytes_at(candidate, "free_bytes"),
                                 bytes_at(candidate, "memory_bytes"));
  if (const std::string reason = candidate.value("reason", ""); !reason.empty()) {
    text += fmt::format("; {}", printable(reason));
  }
  if (candidate.contains("prediction")) {
    text += fmt::format("; predicted {}; slowest neighbour {}",
                        candidate.at("prediction").value("text", ""),
                        percent_at(candidate, "worst_neighbour_progress"));
  }
  for (const json& latency : candidate.value("latencies", json::array())) {
    text += fmt::format(
        "; job {}: predicted {}", latency.value("job", std::int64_t{0}), latency.value("text", ""));
  }
  return text + "\n";
}

std::string neighbour_text(const json& neighbour) {
  const std::string name = neighbour.value("name", "");
  std::string text = fmt::format("job {} ({}): ",
                                 neighbour.value("id", std::int64_t{0}),
                                 name.empty() ? neighbour.value("user", "") : name);
  if (!neighbour.contains("prediction")) {
    return text + "paused";
  }
  return text + fmt::format("{}; now {}",
                            neighbour.at("prediction").value("text", ""),
                            percent_at(neighbour.at("prediction_now"), "progress"));
}

std::string memory_text(const json& answer) {
  std::string text = answer.at("memory").value("text", "");
  if (answer.contains("placement")) {
    const json& placement = answer.at("placement");
    if (placement.value("reserved_bytes", std::uint64_t{0}) > 0) {
      text += fmt::format("; {} would be reserved", bytes_at(placement, "reserved_bytes"));
    }
    if (placement.contains("cap_bytes")) {
      text += fmt::format("; capped at {}", bytes_at(placement, "cap_bytes"));
    }
  }
  return text;
}

// When the first job would start.
std::string start_text(const json& answer) {
  if (answer.value("starts_now", false)) {
    return "now";
  }
  if (answer.contains("earliest_start_in_s")) {
    return fmt::format("in about {} at the earliest, when job {} ends",
                       serve::show_seconds(answer.at("earliest_start_in_s").get<double>()),
                       answer.value("earliest_after_job", std::int64_t{0}));
  }
  return answer.at("candidates").empty() ? std::string() : std::string("not known");
}

void add_lesson(std::string& text, const json& lesson) {
  const char* name = "assumed";
  for (const json& assumed : lesson.at("assumed")) {
    line(text, std::exchange(name, ""), assumed.get<std::string>());
  }
  name = "replaced by";
  for (const json& change : lesson.at("changes")) {
    line(text, std::exchange(name, ""), change.get<std::string>());
  }
  line(text, "run next", lesson.value("command", ""));
}

}  // namespace

std::string show_text(const nlohmann::json& job) {
  std::string text;
  line(text, "job", fmt::format("{}", job.at("id").get<std::int64_t>()));
  if (job.contains("array_index")) {
    line(
        text,
        "array",
        fmt::format("index {} of array {}[]{}",
                    job.at("array_index").get<int>(),
                    job.value("array_job", std::int64_t{0}),
                    job.contains("array_limit")
                        ? fmt::format(", at most {} at once", job.at("array_limit").get<unsigned>())
                        : std::string()));
  }
  line(text, "name", job.value("name", ""));
  line(text, "user", job.value("user", ""));
  line(text, "state", fmt::format("{} ({})", job.value("state", ""), job.value("code", "")));
  line(text, "reason", job.value("reason", ""));
  line(text,
       "command",
       fmt::format("{}", fmt::join(job.at("argv").get<std::vector<std::string>>(), " ")));
  if (job.contains("params")) {
    std::string params;
    for (const auto& [name, value] : job.at("params").items()) {
      params += fmt::format("{}{}={}", params.empty() ? "" : " ", name, value.get<std::string>());
    }
    line(text, "parameters", params);
  }
  line(text, "workload", job.value("workload", ""));
  line(text, "activity", job.value("activity", ""));
  line(text, "folder", job.value("cwd", ""));
  line(text,
       "GPUs",
       fmt::format("{}{}",
                   job.value("gpu_count", 1),
                   job.contains("gpu_filter")
                       ? fmt::format(", on {} only", job.at("gpu_filter").value("text", ""))
                       : std::string()));
  line(text, "memory", bytes_at(job, "mem_bytes"));
  if (const std::string escape = job.value("cap_escape", ""); !escape.empty()) {
    line(text, "cap", fmt::format("not enforced: {}", escape));
  }
  if (job.contains("time_s")) {
    line(text, "time limit", serve::show_seconds(job.at("time_s").get<double>()));
  }
  line(text, "class", job.value("class", ""));
  if (job.contains("gate")) {
    line(text, "SLO", promise_text(job.at("gate")));
    line(text, "held", held_text(job.at("gate")));
  } else if (job.contains("slo_ms")) {
    line(text, "SLO", fmt::format("{:g} ms", job.at("slo_ms").get<double>()));
  }
  line(text, "priority", fmt::format("{}", job.value("priority", 0)));
  time_line(text, "submitted", job, "submitted_s");
  time_line(text, "begins", job, "begin_s");
  if (!job.at("attempts").empty()) {
    time_line(text, "started", job.at("attempts").back(), "started_s");
  }
  time_line(text, "ended", job, "ended_s");
  line(text, "output", job.value("stdout_file", ""));
  line(text, "errors", job.value("stderr_file", ""));
  line(text, "notify", job.value("notify", ""));
  if (job.value("output_cut", false)) {
    line(text, "", "the output passed its limit; only its latest part is kept");
  }
  for (const json& attempt : job.at("attempts")) {
    text += attempt_text(attempt);
  }
  return text;
}

std::string explain_text(const json& why) {
  std::string text = fmt::format("{}\n", printable(why.value("summary", "")));
  line(text, "constraint", why.value("constraint", ""));
  if (why.contains("placed")) {
    const json& placed = why.at("placed");
    line(text,
         "placed",
         fmt::format("GPU {}, {}: {}",
                     fmt::join(placed.at("gpus").get<std::vector<unsigned>>(), ","),
                     placed.value("mechanism", ""),
                     placed.value("reason", "")));
    if (placed.contains("predicted_progress")) {
      line(text,
           "predicted",
           fmt::format("{} of its solo speed", percent_at(placed, "predicted_progress")));
    }
  }
  if (why.contains("belief")) {
    const json& belief = why.at("belief");
    line(text, "activity", belief.value("activity", ""));
    line(text, "memory", belief.value("memory", ""));
    if (belief.contains("prediction")) {
      line(text, "speed now", belief.at("prediction").value("text", ""));
    }
  }
  if (why.contains("latency")) {
    line(text, "latency", why.at("latency").value("text", ""));
  }
  for (const json& candidate : why.at("candidates")) {
    text += candidate_text(candidate);
  }
  for (const json& change : why.at("changes")) {
    text += fmt::format("To start it: {}\n", printable(change.value("text", "")));
  }
  if (why.contains("lesson")) {
    add_lesson(text, why.at("lesson"));
  }
  return text;
}

std::string dry_run_text(const json& answer, std::string_view estimate) {
  std::string text = fmt::format("{}\n", printable(answer.value("summary", "")));
  if (const std::size_t jobs = answer.value("jobs", std::size_t{1}); jobs > 1) {
    line(text, "jobs", fmt::format("{}; this is about the first of them", jobs));
  }
  line(text, "estimate", estimate);
  line(text, "memory", memory_text(answer));
  line(text, "activity", answer.value("activity", ""));
  line(text, "constraint", answer.value("constraint", ""));
  if (answer.contains("placement")) {
    const json& placement = answer.at("placement");
    line(text,
         "placement",
         fmt::format("GPU {}, {}: {}",
                     fmt::join(placement.at("gpus").get<std::vector<unsigned>>(), ","),
                     placement.value("mechanism", ""),
                     placement.value("reason", "")));
    line(text,
         "speed",
         answer.contains("prediction") ? answer.at("prediction").value("text", "") : "solo speed");
  }
  for (const json& neighbour : answer.at("neighbours")) {
    line(text, "neighbour", neighbour_text(neighbour));
  }
  line(text, "start", start_text(answer));
  if (const std::size_t ahead = answer.value("jobs_ahead", std::size_t{0}); ahead > 0) {
    line(text,
         "queue",
         ahead == 1 ? "1 waiting job goes before it"
                    : fmt::format("{} waiting jobs go before it", ahead));
  }
  for (const json& candidate : answer.at("candidates")) {
    text += candidate_text(candidate);
  }
  for (const json& change : answer.at("changes")) {
    if (change.value("change", "") != "wait") {
      text += fmt::format("To start it now: {}\n", printable(change.value("text", "")));
    }
  }
  return text;
}

}  // namespace carpool::app
