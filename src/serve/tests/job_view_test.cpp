#include "serve/job_view.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "serve/advice/explanation_view.hpp"
#include "serve/tests/test_api.hpp"

namespace carpool::serve {
namespace {

using nlohmann::json;
using schedule::kGiB;

class JobView : public testing::Test {
 protected:
  [[nodiscard]] json details(JobId job, const Caller& caller, double now_s) const {
    return job_details(*server_.scheduler, server_.record(job), caller, now_s);
  }
  schedule::StubServer server_{1};
};

TEST_F(JobView, ARunningJobShowsWhereItRunsAndForHowLong) {
  JobSpec spec = schedule::stub_job(2);
  spec.argv = {"python", "train.py"};
  spec.cwd = "/srv/ann";
  spec.env = {{"KEY", "hunter2"}};
  spec.time_s = 60.0;
  const JobId job = server_.submit(spec, 100.0, caller_ann.uid);
  server_.step(100.0);
  const json view = details(job, caller_ann, 107.5);
  EXPECT_EQ(view.at("state"), "running");
  EXPECT_EQ(view.at("code"), "R");
  EXPECT_EQ(view.at("run_s"), 7.5);
  EXPECT_EQ(view.at("submitted_s"), 100.0);
  EXPECT_EQ(view.at("gpus"), json::array({0}));
  EXPECT_EQ(view.at("mechanism"), "mps");
  EXPECT_EQ(view.at("mem_bytes"), 2 * kGiB);
  EXPECT_EQ(view.at("asked_mem_bytes"), 2 * kGiB);
  EXPECT_EQ(view.at("time_s"), 60.0);
  EXPECT_EQ(view.at("name"), "python");  // without a name, the program
  EXPECT_EQ(view.at("argv"), json({"python", "train.py"}));
  EXPECT_EQ(view.at("env"), json({{"KEY", "hunter2"}}));
  EXPECT_EQ(view.at("attempts").size(), 1U);
  EXPECT_EQ(view.at("attempts").at(0).at("started_s"), 100.0);
  EXPECT_FALSE(view.at("attempts").at(0).contains("end"));
  EXPECT_FALSE(view.at("attempts").at(0).contains("cap_processes"));
  EXPECT_FALSE(view.contains("ended_s"));
  EXPECT_FALSE(view.contains("exit_code"));
}

TEST_F(JobView, AWaitingJobHasItsReasonInOneWord) {
  const JobId running = server_.submit(schedule::stub_job(1), 100.0, caller_ann.uid);
  server_.step(100.0);
  EXPECT_FALSE(details(running, caller_ann, 101.0).contains("reason_word"));
  JobSpec dependent = schedule::stub_job(1);
  dependent.after = {running};
  const JobId second = server_.submit(dependent, 101.0, caller_ann.uid);
  const JobId large = server_.submit(schedule::stub_job(40), 101.0, caller_ann.uid);
  const JobId held = server_.submit(schedule::stub_job(40), 101.0, caller_ann.uid);
  ASSERT_TRUE(server_.scheduler->hold(held, 101.0));
  server_.step(101.0);
  const auto word = [&](JobId job) { return details(job, caller_ann, 102.0).at("reason_word"); };
  EXPECT_EQ(word(second), "Dependency");
  EXPECT_EQ(word(held), "Held");
  EXPECT_EQ(word(large), "Memory");
  server_.scheduler->set_draining(true, "today");
  server_.step(102.0);
  EXPECT_EQ(word(large), "Drained");
  EXPECT_EQ(word(second), "Dependency");
}

TEST_F(JobView, CapThatIsDividedIsTold) {
  server_.policy.caps = true;
  server_.interference.processes = 2;
  const JobId job = server_.submit(schedule::stub_job(8), 100.0, caller_ann.uid);
  server_.step(100.0);
  const json attempt = details(job, caller_ann, 101.0).at("attempts").at(0);
  EXPECT_EQ(attempt.at("cap_bytes"), 8 * kGiB);
  EXPECT_EQ(attempt.at("cap_processes"), 2);
  EXPECT_EQ(attempt.at("process_cap_bytes"), 4 * kGiB);
}

TEST_F(JobView, APausedJobShowsSinceWhenAndWhy) {
  const JobId first = server_.submit(schedule::stub_job(2), 0.0, caller_ann.uid);
  const JobId job = server_.submit(schedule::stub_job(2), 0.0, caller_ann.uid);
  server_.step(0.0);
  server_.see({{first, 1}, {job, 1}}, 1.0);
  server_.pause(job, 10.0, PauseCause::Interference);
  const json view = details(job, caller_ann, 30.0);
  EXPECT_EQ(view.at("state"), "running");
  EXPECT_EQ(view.at("code"), "S");
  EXPECT_EQ(view.at("run_s"), 10.0);
  EXPECT_EQ(view.at("paused_since_s"), 10.0);
  EXPECT_EQ(view.at("pause_cause"), "interference");
  EXPECT_EQ(view.at("reason"), "paused: others compute");
  EXPECT_EQ(view.at("attempts").at(0).at("pause_reason"), "others compute");
  EXPECT_EQ(view.at("attempts").at(0).at("pauses"), 1);
  const json why =
      explanation_view(*schedule::explain(*server_.scheduler, job), server_.record(job));
  EXPECT_EQ(why.at("summary"), fmt::format("Job {} is paused: others compute", job));
  EXPECT_EQ(why.at("belief").at("memory"),
            "told 2 GiB; measured 1 GiB after 9 s; 2 GiB are reserved for it now");
}

TEST_F(JobView, OtherUsersSeeTheSummaryOnly) {
  JobSpec spec = schedule::stub_job(2);
  spec.argv = {"secret"};
  spec.env = {{"KEY", "hunter2"}};
  const JobId job = server_.submit(spec, 0.0, caller_ann.uid);
  server_.step(0.0);
  const json view = details(job, caller_bob, 1.0);
  EXPECT_EQ(view.at("id"), job);
  for (const char* hidden : {"argv", "env", "cwd", "attempts", "name", "workload", "after"}) {
    EXPECT_FALSE(view.contains(hidden)) << hidden;
  }
  EXPECT_EQ(view.dump().find("secret"), std::string::npos);
  EXPECT_EQ(view.dump().find("hunter2"), std::string::npos);
}

TEST_F(JobView, AnEndedJobShowsItsOutcome) {
  const JobId failed = server_.submit(schedule::stub_job(1), 0.0, caller_ann.uid);
  const JobId killed = server_.submit(schedule::stub_job(1), 0.0, caller_ann.uid);
  server_.step(0.0);
  server_.end(failed,
              {.end = RunEnd::Failed, .code = 3, .detail = "ValueError: no data", .at_s = 9.0},
              9.0);
  server_.end(killed, {.end = RunEnd::Failed, .signal = 9, .at_s = 9.0}, 9.0);
  const json view = details(failed, caller_ann, 50.0);
  EXPECT_EQ(view.at("state"), "failed");
  EXPECT_EQ(view.at("end"), "failed");
  EXPECT_EQ(view.at("exit_code"), 3);
  EXPECT_EQ(view.at("ended_s"), 9.0);
  EXPECT_EQ(view.at("run_s"), 9.0);  // stands still
  EXPECT_EQ(view.at("attempts").at(0).at("detail"), "ValueError: no data");
  EXPECT_EQ(details(killed, caller_ann, 50.0).at("signal"), 9);
  EXPECT_FALSE(details(killed, caller_ann, 50.0).contains("exit_code"));
}

TEST_F(JobView, AWaitingJobShowsWhyItWaits) {
  server_.submit(schedule::stub_job(40), 0.0, caller_ann.uid);
  const JobId waits = server_.submit(schedule::stub_job(30), 0.0, caller_ann.uid);
  server_.step(0.0);
  const json view = details(waits, caller_ann, 1.0);
  EXPECT_EQ(view.at("state"), "queued");
  EXPECT_EQ(view.at("run_s"), 0.0);
  EXPECT_EQ(view.at("reason"), server_.scheduler->why_waiting(waits)->reason);
  EXPECT_TRUE(view.at("attempts").empty());
}

TEST(GpuViewJson, ShowsMemoryAndJobsAndHidesTheWorkloadOfOthers) {
  const GpuView gpu{.index = 1,
                    .uuid = "GPU-1",
                    .memory_bytes = 40 * kGiB,
                    .used_bytes = 5 * kGiB,
                    .foreign_bytes = kGiB,
                    .foreign = true,
                    .unusable = "fell off the bus",
                    .pressure = GpuPressure{.sm_active = 0.5},
                    .residents = {{.job = 3,
                                   .uid = caller_ann.uid,
                                   .workload = "secret",
                                   .mechanism = ShareMechanism::Mps,
                                   .reserved_bytes = 4 * kGiB}}};
  const json own = gpu_view(gpu, caller_ann);
  EXPECT_EQ(own.at("index"), 1);
  EXPECT_EQ(own.at("free_bytes"), gpu.free_bytes());
  EXPECT_EQ(own.at("foreign"), true);
  EXPECT_EQ(own.at("unusable"), "fell off the bus");
  EXPECT_EQ(own.at("sm_active_ratio"), 0.5);
  EXPECT_EQ(own.at("jobs").at(0).at("id"), 3);
  EXPECT_EQ(own.at("jobs").at(0).at("mechanism"), "mps");
  EXPECT_EQ(own.at("jobs").at(0).at("workload"), "secret");
  EXPECT_EQ(gpu_view(gpu, caller_operator).at("jobs").at(0).at("workload"), "secret");
  EXPECT_EQ(gpu_view(gpu, caller_bob).dump().find("secret"), std::string::npos);
  const json idle = gpu_view(GpuView{}, caller_ann);
  EXPECT_FALSE(idle.contains("unusable"));
  EXPECT_FALSE(idle.contains("sm_active_ratio"));
  EXPECT_TRUE(idle.at("jobs").empty());
}

TEST(ExplanationJson, HasTheConstraintTheCandidatesAndTheChanges) {
  using Change = schedule::StartingChange;
  const schedule::Explanation explanation{
      .job = 5,
      .summary = "Job 5 is waiting.",
      .binding = Deferral{.job = 5, .constraint = Constraint::Memory, .reason = "30 GiB needed"},
      .candidates = {{.gpu = 1,
                      .memory_bytes = 40,
                      .free_bytes = 10,
                      .residents = {3},
                      .takes_it = false,
                      .forecast = ProgressForecast{.progress = 0.5,
                                                   .interval90 = {.low = 0.2, .high = 0.75},
                                                   .basis = ProgressForecast::Basis::Members},
                      .reason = "too little memory"}},
      .changes = {{.kind = Change::Kind::LessMemory, .words = "less", .need_bytes = 10},
                  {.kind = Change::Kind::Order, .words = "raise its priority"},
                  {.kind = Change::Kind::NotExclusive, .words = "share"},
                  {.kind = Change::Kind::FewerGpus, .words = "fewer", .gpus = 1},
                  {.kind = Change::Kind::Wait, .words = "wait", .wait_s = 60.0, .until_ends = 3}}};
  const json view = explanation_view(explanation, JobRecord{.id = 5});
  EXPECT_EQ(view.at("id"), 5);
  EXPECT_EQ(view.at("state"), "queued");
  EXPECT_EQ(view.at("code"), "PD");
  EXPECT_EQ(view.at("summary"), "Job 5 is waiting.");
  EXPECT_EQ(view.at("constraint"), "memory");
  EXPECT_EQ(view.at("reason"), "30 GiB needed");
  EXPECT_EQ(view.at("candidates"),
            json::parse(R"([{"gpu": 1, "memory_bytes": 40, "free_bytes": 10, "jobs": [3],
                             "possible": false, "reason": "too little memory",
                             "predicted_progress": 0.5,
                             "prediction": {"progress": 0.5, "low": 0.2, "high": 0.75,
                                            "text": "50 % of its solo speed (20 to 75 %), from what is known of the jobs"}}])"));
  EXPECT_EQ(view.at("changes"), json::parse(R"([{"change": "mem", "text": "less", "mem_bytes": 10},
                            {"change": "order", "text": "raise its priority"},
                            {"change": "exclusive", "text": "share"},
                            {"change": "gpus", "text": "fewer", "gpus": 1},
                            {"change": "wait", "text": "wait", "wait_s": 60.0, "until_job": 3}])"));
  EXPECT_FALSE(view.contains("placed"));
}

TEST(ExplanationJson, OfARunningJobSaysWhereItIs) {
  const schedule::Explanation explanation{.job = 5,
                                          .placed = JobStarted{.gpus = {1},
                                                               .mechanism = ShareMechanism::Mps,
                                                               .reserved_bytes = 7,
                                                               .predicted_progress = 0.9,
                                                               .reason = "most room"}};
  const json view = explanation_view(explanation, JobRecord{.id = 5, .state = JobState::Running});
  EXPECT_EQ(view.at("state"), "running");
  EXPECT_EQ(view.at("placed"),
            json::parse(R"({"gpus": [1], "mechanism": "mps", "thread_limit_percent": 100.0,
                            "reserved_bytes": 7, "reason": "most room",
                            "predicted_progress": 0.9})"));
  EXPECT_FALSE(view.contains("constraint"));
  EXPECT_TRUE(view.at("candidates").empty());
}

}  // namespace
}  // namespace carpool::serve
