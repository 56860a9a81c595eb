#include "app/output/job_text.hpp"

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/output/text_lines.hpp"
#include "base/text/printable.hpp"
#include "serve/units.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

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
    const auto job = latency.value("job", std::int64_t{0});
    text += fmt::format("; {}: predicted {}",
                        job == 0 ? std::string("the job") : fmt::format("job {}", job),
                        latency.value("text", ""));
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
    add_line(text, std::exchange(name, ""), assumed.get<std::string>());
  }
  name = "replaced by";
  for (const json& change : lesson.at("changes")) {
    add_line(text, std::exchange(name, ""), change.get<std::string>());
  }
  add_line(text, "run next", lesson.value("command", ""));
}

}  // namespace

std::string explain_text(const json& why) {
  std::string text = fmt::format("{}\n", printable(why.value("summary", "")));
  add_line(text, "constraint", why.value("constraint", ""));
  if (why.contains("placed")) {
    const json& placed = why.at("placed");
    add_line(text,
             "placed",
             fmt::format("GPU {}, {}: {}",
                         fmt::join(placed.at("gpus").get<std::vector<unsigned>>(), ","),
                         placed.value("mechanism", ""),
                         placed.value("reason", "")));
    if (placed.contains("predicted_progress")) {
      add_line(text,
               "predicted",
               fmt::format("{} of its solo speed", percent_at(placed, "predicted_progress")));
    }
  }
  if (why.contains("belief")) {
    const json& belief = why.at("belief");
    add_line(text, "activity", belief.value("activity", ""));
    add_line(text, "memory", belief.value("memory", ""));
    if (belief.contains("prediction")) {
      add_line(text, "speed now", belief.at("prediction").value("text", ""));
    }
  }
  if (why.contains("latency")) {
    add_line(text, "latency", why.at("latency").value("text", ""));
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
    add_line(text, "jobs", fmt::format("{}; this is about the first of them", jobs));
  }
  add_line(text, "estimate", estimate);
  add_line(text, "memory", memory_text(answer));
  add_line(text, "activity", answer.value("activity", ""));
  add_line(text, "constraint", answer.value("constraint", ""));
  if (answer.contains("placement")) {
    const json& placement = answer.at("placement");
    add_line(text,
             "placement",
             fmt::format("GPU {}, {}: {}",
                         fmt::join(placement.at("gpus").get<std::vector<unsigned>>(), ","),
                         placement.value("mechanism", ""),
                         placement.value("reason", "")));
    add_line(
        text,
        "speed",
        answer.contains("prediction") ? answer.at("prediction").value("text", "") : "solo speed");
  }
  for (const json& neighbour : answer.at("neighbours")) {
    add_line(text, "neighbour", neighbour_text(neighbour));
  }
  add_line(text, "start", start_text(answer));
  if (const std::size_t ahead = answer.value("jobs_ahead", std::size_t{0}); ahead > 0) {
    add_line(text,
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
