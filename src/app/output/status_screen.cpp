#include "app/output/status_screen.hpp"

#include <cstdint>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/output.hpp"
#include "app/output/gate_text.hpp"
#include "app/output/gpu_table.hpp"
#include "app/output/queue_table.hpp"
#include "app/output/text_table.hpp"
#include "app/top/served_gpus.hpp"
#include "base/text/printable.hpp"
#include "serve/units.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

constexpr std::size_t kFirstJobs = 5;
// Why another user's job waits is not shown.
constexpr const char* kOfOthers = "of other users";

std::string waiting_reason(const json& job) {
  return job.value("reason_word", job.contains("name") ? "Order" : kOfOthers);
}

std::string count_of(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string server_lines(const json& server, std::size_t gpus) {
  std::string text =
      fmt::format("Server: carpool {}, policy {}, {}, up since {} ({})\n",
                  server.value("carpool", ""),
                  server.value("policy", ""),
                  server.value("mode", "") == "simulated" ? count_of(gpus, "simulated GPU")
                                                          : count_of(gpus, "GPU"),
                  serve::show_time(server.value("started_s", 0.0)),
                  serve::show_seconds(server.value("up_s", 0.0)));
  text += fmt::format("Socket: {}\n", server.value("socket", ""));
  if (const std::string notice = server.value("notice", ""); !notice.empty()) {
    text += fmt::format("Note:   {}\n", notice);
  }
  for (const json& trouble : server.value("troubles", json::array())) {
    if (const std::string reason = trouble.value("reason", ""); !reason.empty()) {
      text += fmt::format("Note:   no job starts on {}: {}; next try in {}\n",
                          trouble.contains("gpu") ? fmt::format("GPU {}", trouble.at("gpu").dump())
                                                  : std::string("this machine"),
                          reason,
                          serve::show_seconds(trouble.value("next_try_s", 0.0)));
    }
  }
  return text;
}

std::string jobs_cell(const GpuReading& gpu) {
  std::string text = jobs_text(*gpu.jobs);
  if (!gpu.problem.empty()) {
    text += fmt::format("{}unusable: {}", text.empty() ? "" : "; ", gpu.problem);
  }
  return text.empty() ? "-" : text;
}

std::string gpu_rows(const json& status, bool colour, std::optional<std::size_t> columns) {
  TextTable table(colour);
  table.add_column("GPU", TextTable::Align::Right);
  table.add_column("MEM(used/all)", TextTable::Align::Right);
  table.add_column("SM[%]", TextTable::Align::Right);
  table.add_column("JOBS", TextTable::Align::Left, true);
  for (const GpuReading& gpu : served_readings(status)) {
    table.add_row({fmt::format("{}", gpu.info.index),
                   fmt::format("{}/{}",
                               serve::show_bytes(gpu.sample->memory_used_bytes),
                               serve::show_bytes(gpu.info.memory_bytes)),
                   percent(gpu.activity->sm_active, 0),
                   jobs_cell(gpu)},
                  !gpu.jobs->empty());
  }
  return table.render(columns);
}

// Whether jobs keep their SLO; a job on several GPUs has one line.
std::string promise_lines(const json& gpus) {
  std::map<std::int64_t, std::string> lines;
  for (const json& gpu : gpus) {
    for (const json& job : gpu.value("jobs", json::array())) {
      const std::string promise = job.contains("gate") ? promise_text(job.at("gate")) : "";
      if (!promise.empty()) {
        const auto id = job.at("id").get<std::int64_t>();
        lines[id] =
            fmt::format("SLO:   {} {}: {}\n", id, printable(job.value("name", "")), promise);
      }
    }
  }
  std::string text;
  for (const auto& [id, line] : lines) {
    text += line;
  }
  return text;
}

std::string queue_line(const json& queue) {
  std::string reasons;
  for (const auto& [word, count] : queue.at("reasons").items()) {
    reasons +=
        fmt::format("{}{} {}", reasons.empty() ? ": " : ", ", count.get<std::size_t>(), word);
  }
  const auto waiting = queue.at("waiting").get<std::size_t>();
  return fmt::format("Queue: {} running, {} waiting{}\n",
                     queue.at("running").get<std::size_t>(),
                     waiting,
                     reasons);
}

std::string queue_rows(const json& queue, bool colour, std::optional<std::size_t> columns) {
  TextTable table(colour);
  table.add_column("JOBID", TextTable::Align::Right);
  table.add_column("NAME", TextTable::Align::Left, true);
  table.add_column("USER", TextTable::Align::Left, true);
  table.add_column("WAITS", TextTable::Align::Right);
  table.add_column("REASON", TextTable::Align::Left, true);
  for (const json& job : queue.at("first")) {
    table.add_row({fmt::format("{}", job.at("id").get<std::int64_t>()),
                   shown_name(job),
                   job.value("user", ""),
                   serve::show_seconds(job.value("waits_s", 0.0)),
                   job.value("reason_word", "")});
  }
  return table.render(columns);
}

}  // namespace

json status_object(const StatusAnswers& answers) {
  json server = answers.status;
  const json counts = server.value("jobs", json::object());
  const double now_s = server.value("now_s", 0.0);
  server.erase("jobs");
  server.erase("version");
  server["socket"] = answers.socket;
  server["up_s"] = now_s - server.value("started_s", now_s);
  std::map<std::string, std::size_t> reasons;
  json first = json::array();
  for (const json& job : answers.waiting) {
    ++reasons[waiting_reason(job)];
    if (first.size() < kFirstJobs) {
      first.push_back(job);
      first.back()["waits_s"] = now_s - job.value("submitted_s", now_s);
    }
  }
  return {{"version", 1},
          {"server", std::move(server)},
          {"gpus", answers.gpus},
          {"queue",
           {{"running",
             counts.value("running", std::size_t{0}) + counts.value("stopping", std::size_t{0})},
            {"waiting", answers.waiting.size()},
            {"reasons", reasons},
            {"first", std::move(first)}}}};
}

std::string status_screen(const json& status, bool colour, std::optional<std::size_t> columns) {
  const json& queue = status.at("queue");
  std::string text = server_lines(status.at("server"), status.at("gpus").size());
  text += "\n" + gpu_rows(status, colour, columns);
  text += promise_lines(status.at("gpus"));
  text += "\n" + queue_line(queue);
  if (const std::size_t shown = queue.at("first").size(); shown > 0) {
    text += queue_rows(queue, colour, columns);
    const auto waiting = queue.at("waiting").get<std::size_t>();
    if (waiting > shown) {
      text += fmt::format("and {} more; `carpool queue --all` lists them\n", waiting - shown);
    }
  }
  return text;
}

}  // namespace carpool::app
