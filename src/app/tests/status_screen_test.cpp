#include "app/output/status_screen.hpp"

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "app/output/gpu_table.hpp"
#include "app/output/text_table.hpp"
#include "app/top/served_gpus.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

json served_status() {
  return json::parse(R"({"carpool": "1.2.3", "mode": "gpus", "policy": "carpool", "now_s": 1000,
      "started_s": 400, "draining": true, "notice": "the server is drained",
      "jobs": {"running": 2, "queued": 6, "held": 1},
      "troubles": [{"scope": "gpus", "gpu": 1, "reason": "MPS does not start", "next_try_s": 7}]})");
}

json served_gpus_answer() {
  return json::parse(R"([
      {"index": 0, "uuid": "GPU-0", "memory_bytes": 85899345920, "used_bytes": 12884901888,
       "sm_active_ratio": 0.634, "jobs": [
         {"id": 7, "user": "ann", "name": "train.py", "used_bytes": 5, "supervisor_pid": 10},
         {"id": 9, "user": "bob", "paused": true}]},
      {"index": 1, "uuid": "GPU-1", "memory_bytes": 85899345920, "used_bytes": 0, "jobs": []}])");
}

json waiting_jobs() {
  json jobs = json::array();
  for (int id = 20; id < 27; ++id) {
    jobs.push_back({{"id", id}, {"user", "ann"}, {"name", "sweep"}, {"submitted_s", 900}});
    jobs.back()["reason_word"] = id < 24 ? "Memory" : "Held";
  }
  jobs[3].erase("reason_word");
  jobs[3].erase("name");  // of another user
  return jobs;
}

json whole_status() {
  return status_object({.status = served_status(),
                        .gpus = served_gpus_answer(),
                        .waiting = waiting_jobs(),
                        .socket = "/run/s"});
}

bool shows(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(StatusScreen, HasServerGpusAndQueue) {
  const std::string text = status_screen(whole_status(), false, std::nullopt);
  EXPECT_TRUE(shows(text, "Server: carpool 1.2.3, policy carpool, 2 GPUs, up since ")) << text;
  EXPECT_TRUE(shows(text, " (10:00)\n")) << text;
  EXPECT_TRUE(shows(text, "Socket: /run/s\n")) << text;
  EXPECT_TRUE(shows(text, "Note:   the server is drained\n")) << text;
  EXPECT_TRUE(shows(text, "no job starts on GPU 1: MPS does not start; next try in 0:07")) << text;
  EXPECT_TRUE(shows(text, "  0    12.0G/80.0G     63  7 train.py (ann), 9 (bob, paused)\n"))
      << text;
  EXPECT_TRUE(shows(text, "  1        0/80.0G      -  -\n")) << text;
  EXPECT_TRUE(shows(text, "Queue: 2 running, 7 waiting: 3 Held, 3 Memory, 1 of other users\n"))
      << text;
  EXPECT_TRUE(shows(text, "   20  sweep  ann    1:40  Memory\n")) << text;
  EXPECT_TRUE(shows(text, "and 2 more; `carpool queue --all` lists them\n")) << text;
}

TEST(StatusScreen, JobsWithAnSloTellWhetherTheyKeepIt) {
  json gpus = served_gpus_answer();
  EXPECT_FALSE(shows(status_screen(whole_status(), false, std::nullopt), "SLO:"));
  gpus[0]["jobs"][0]["gate"] = {{"slo_ms", 20.0},
                                {"quantile", 0.99},
                                {"requests", 1000},
                                {"attainment", 0.998},
                                {"p50_ms", 4.0},
                                {"tail_ms", 9.5},
                                {"holds", json::array()}};
  gpus[1]["jobs"].push_back(gpus[0]["jobs"][0]);  // it runs on both
  const json status = status_object(
      {.status = served_status(), .gpus = gpus, .waiting = waiting_jobs(), .socket = "/run/s"});
  const std::string text = status_screen(status, false, std::nullopt);
  const std::string line =
      "\nSLO:   7 train.py: 99.8 % of 1000 requests within 20 ms (goal 99 %); p50 4 ms, p99 9.5 "
      "ms\n";
  EXPECT_TRUE(shows(text, line)) << text;
  EXPECT_EQ(text.find("SLO:"), text.rfind("SLO:")) << text;
}

TEST(StatusScreen, TablesFitTheTerminal) {
  json gpus = served_gpus_answer();
  gpus[0]["jobs"][0]["name"] = std::string(300, 'n');
  const json status = status_object(
      {.status = served_status(), .gpus = gpus, .waiting = waiting_jobs(), .socket = "/run/s"});
  const std::string text = status_screen(status, false, 60);
  const std::size_t row = text.find("  0    12.0G");
  ASSERT_NE(row, std::string::npos) << text;
  EXPECT_LE(display_width(text.substr(row, text.find('\n', row) - row)), 60U) << text;
}

TEST(StatusScreen, JsonHasCountsAndTheFirstJobs) {
  const json status = whole_status();
  EXPECT_EQ(status.at("queue").at("reasons"),
            json::parse(R"({"Held": 3, "Memory": 3, "of other users": 1})"));
  EXPECT_EQ(status.at("queue").at("first").size(), 5U);
  EXPECT_EQ(status.at("server").at("socket"), "/run/s");
  EXPECT_EQ(status.at("server").at("up_s"), 600.0);
  EXPECT_FALSE(status.at("server").contains("jobs"));
}

// A GPU of this machine with a process of job 7 and another one.
std::vector<GpuReading> local_gpus(const std::string& uuid) {
  std::vector<GpuReading> gpus(1);
  gpus[0].info.uuid = uuid;
  gpus[0].processes.resize(2);
  gpus[0].processes[0].process.pid = 11;
  gpus[0].processes[1].process.pid = 99;
  return gpus;
}

std::optional<JobId> job_of(std::int64_t pid) {
  return pid == 11 ? std::optional<JobId>(7) : std::nullopt;
}

TEST(ServedGpus, JobsJoinTheGpuWithTheSameUuid) {
  const auto served = served_readings({{"gpus", served_gpus_answer()}});
  std::vector<GpuReading> gpus = local_gpus("GPU-0");
  join_jobs(gpus, served, job_of);
  ASSERT_TRUE(gpus[0].jobs);
  EXPECT_EQ(jobs_text(*gpus[0].jobs), "7 train.py (ann), 9 (bob, paused)");
  EXPECT_EQ(gpus[0].jobs->front().supervisor, 10);
  EXPECT_EQ(gpus[0].processes[0].job, 7);
  EXPECT_EQ(gpus[0].processes[1].job, std::nullopt);
  EXPECT_TRUE(shows(gpu_table(gpus, false), "  7 train.py (ann), 9 (bob, paused)\n"));
  EXPECT_TRUE(shows(process_table(gpus, false), "  job  command\n"));
  EXPECT_EQ(gpus_to_json(gpus).at(0).at("jobs").at(0).at("name"), "train.py");
  EXPECT_EQ(gpus_to_json(gpus).at(0).at("processes").at(0).at("job"), 7);
  EXPECT_LE(display_width(gpu_table(gpus, false, 130)), 2 * 131U);
}

TEST(ServedGpus, AMigGpuHasTheJobsOfItsInstances) {
  const auto served = served_readings({{"gpus", served_gpus_answer()}});
  std::vector<GpuReading> gpus = local_gpus("GPU-whole");
  gpus[0].info.mig = {{.uuid = "GPU-0"}, {.uuid = "GPU-1"}};
  join_jobs(gpus, served, job_of);
  ASSERT_TRUE(gpus[0].jobs);
  EXPECT_EQ(gpus[0].jobs->size(), 2U);
}

TEST(ServedGpus, WithoutAServerThereIsNoJobColumn) {
  std::vector<GpuReading> gpus = local_gpus("GPU-0");
  join_jobs(gpus, {}, job_of);
  EXPECT_FALSE(gpus[0].jobs);
  EXPECT_FALSE(shows(gpu_table(gpus, false), "jobs"));
  EXPECT_FALSE(gpus_to_json(gpus).at(0).contains("jobs"));
}

}  // namespace
}  // namespace carpool::app
