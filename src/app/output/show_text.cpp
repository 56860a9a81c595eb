// carpool show: what a job is and asked for, and its attempts.
#include <cstdint>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/output/gate_text.hpp"
#include "app/output/job_text.hpp"
#include "app/output/text_lines.hpp"
#include "base/text/printable.hpp"
#include "core/latency.hpp"
#include "serve/units.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

void time_line(std::string& text, std::string_view name, const json& object, const char* key) {
  if (object.contains(key)) {
    add_line(text, name, serve::show_time(object.at(key).get<double>()));
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

std::string asked_slo_text(const json& job) {
  return fmt::format(
      "{}{:g} ms",
      job.contains("quantile")
          ? fmt::format("{:g} % of the requests within ", 100.0 * job.at("quantile").get<double>())
          : std::string(),
      job.at("slo_ms").get<double>());
}

// --policy is a variable for the library in the program, which asks the gate of best-effort jobs.
std::string gate_policy(const json& job) {
  if (job.value("class", "") != "best-effort") {
    return {};
  }
  return job.value("env", json::object()).value(kGatePolicyVariable, "");
}

}  // namespace

std::string show_text(const nlohmann::json& job) {
  std::string text;
  add_line(text, "job", fmt::format("{}", job.at("id").get<std::int64_t>()));
  if (job.contains("array_index")) {
    add_line(
        text,
        "array",
        fmt::format("index {} of array {}[]{}",
                    job.at("array_index").get<int>(),
                    job.value("array_job", std::int64_t{0}),
                    job.contains("array_limit")
                        ? fmt::format(", at most {} at once", job.at("array_limit").get<unsigned>())
                        : std::string()));
  }
  add_line(text, "name", job.value("name", ""));
  add_line(text, "user", job.value("user", ""));
  add_line(text, "state", fmt::format("{} ({})", job.value("state", ""), job.value("code", "")));
  add_line(text, "reason", job.value("reason", ""));
  add_line(text,
           "command",
           fmt::format("{}", fmt::join(job.at("argv").get<std::vector<std::string>>(), " ")));
  if (job.contains("params")) {
    std::string params;
    for (const auto& [name, value] : job.at("params").items()) {
      params += fmt::format("{}{}={}", params.empty() ? "" : " ", name, value.get<std::string>());
    }
    add_line(text, "parameters", params);
  }
  add_line(text, "workload", job.value("workload", ""));
  add_line(text, "activity", job.value("activity", ""));
  add_line(text, "folder", job.value("cwd", ""));
  add_line(text,
           "GPUs",
           fmt::format("{}{}",
                       job.value("gpu_count", 1),
                       job.contains("gpu_filter")
                           ? fmt::format(", on {} only", job.at("gpu_filter").value("text", ""))
                           : std::string()));
  add_line(text, "memory", bytes_at(job, "mem_bytes"));
  if (const std::string escape = job.value("cap_escape", ""); !escape.empty()) {
    add_line(text, "cap", fmt::format("not enforced: {}", escape));
  }
  add_line(text, "memory limit", bytes_at(job, "mem_limit_bytes"));
  if (job.contains("runtime_s")) {
    add_line(text,
             "run time",
             fmt::format("{}, as told", serve::show_seconds(job.at("runtime_s").get<double>())));
  }
  if (job.contains("time_s")) {
    add_line(text, "time limit", serve::show_seconds(job.at("time_s").get<double>()));
  }
  add_line(text, "class", job.value("class", ""));
  if (job.contains("gate")) {
    add_line(text, "SLO", promise_text(job.at("gate")));
    add_line(text, "held", held_text(job.at("gate")));
  } else if (job.contains("slo_ms")) {
    add_line(text, "SLO", asked_slo_text(job));
  }
  add_line(text, "gate policy", gate_policy(job));
  add_line(text, "progress", job.value("progress", ""));
  if (const auto retries = job.value("retries", 0U); retries > 0) {
    add_line(text, "retries", fmt::format("{}", retries));
  }
  add_line(text, "priority", fmt::format("{}", job.value("priority", 0)));
  time_line(text, "submitted", job, "submitted_s");
  time_line(text, "begins", job, "begin_s");
  if (!job.at("attempts").empty()) {
    time_line(text, "started", job.at("attempts").back(), "started_s");
  }
  time_line(text, "ended", job, "ended_s");
  add_line(text, "output", job.value("stdout_file", ""));
  add_line(text, "errors", job.value("stderr_file", ""));
  add_line(text, "notify", job.value("notify", ""));
  if (job.value("output_cut", false)) {
    add_line(text, "", "the output passed its limit; only its latest part is kept");
  }
  for (const json& attempt : job.at("attempts")) {
    text += attempt_text(attempt);
  }
  return text;
}

}  // namespace carpool::app
