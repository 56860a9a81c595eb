// Metrics of the launch gate.
#include <string>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "serve/metrics/metrics.hpp"
#include "serve/tests/test_api.hpp"

namespace carpool::serve {
namespace {

JobGate kept_promise(JobId job) {
  return {.job = job,
          .slo_ms = 20.0,
          .quantile = 0.99,
          .requests = 2000,
          .late_requests = 2,
          .p50_ms = 3.0,
          .tail_ms = 9.5};
}

JobGate held_launches(JobId job) {
  return {.job = job,
          .policy = "spacetime",
          .holds = {{.reason = "request-active", .words = "why", .launches = 10, .seconds = 1.5}}};
}

TEST(GateMetrics, AreThoseOfJobsOnGpus) {
  schedule::StubServer server(2);
  Metrics metrics;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(server.scheduler->submit(schedule::stub_job(1), {.uid = 1, .user = "u"}, 1.0));
  }
  server.scheduler->step(2.0);
  metrics.gates({kept_promise(1), held_launches(2), kept_promise(9)});
  const std::string page = metrics.text(*server.scheduler, "1", caller_operator);
  for (const char* const line :
       {"carpool_job_slo_seconds{job_id=\"1\"} 0.02\n",
        "carpool_job_requests_total{job_id=\"1\"} 2000\n",
        "carpool_job_late_requests_total{job_id=\"1\"} 2\n",
        "carpool_job_latency_seconds{job_id=\"1\",quantile=\"0.5\"} 0.003\n",
        "carpool_job_latency_seconds{job_id=\"1\",quantile=\"0.99\"} 0.0095\n",
        "carpool_job_held_seconds_total{job_id=\"2\",reason=\"request-active\"} 1.5\n",
        "carpool_job_held_launches_total{job_id=\"2\",reason=\"request-active\"} 10\n"}) {
    EXPECT_NE(page.find(line), std::string::npos) << line;
  }
  EXPECT_EQ(page.find("carpool_job_requests_total{job_id=\"2\"}"), std::string::npos);
  EXPECT_EQ(page.find("job_id=\"9\""), std::string::npos);
}

TEST(GateMetrics, TheLastReportOfAJobStaysForABoundedNumberOfJobs) {
  Metrics metrics;
  for (JobId job = 1; job <= 300; ++job) {
    metrics.gates({kept_promise(job)});
  }
  EXPECT_FALSE(metrics.gate_of(100));
  ASSERT_TRUE(metrics.gate_of(101));
  EXPECT_NEAR(*metrics.gate_of(101)->attainment(), 0.999, 1e-12);
  EXPECT_NEAR(gate_view(*metrics.gate_of(300)).at("attainment").get<double>(), 0.999, 1e-12);
}

TEST(GateMetrics, AJobThatRunsStaysHoweverManyOthersReportAfterIt) {
  Metrics metrics;
  for (JobId job = 2; job <= 300; ++job) {
    metrics.gates({kept_promise(1), kept_promise(job)});
  }
  EXPECT_TRUE(metrics.gate_of(1));
  EXPECT_FALSE(metrics.gate_of(101));
  EXPECT_TRUE(metrics.gate_of(102));
}

TEST(GateMetrics, JobsOfAGpuTellTheCallerWhoseTheyAreWhetherTheyKeepTheirSlo) {
  TestApi test;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(test->submit(caller_ann, R"({"argv": ["serve"], "mem": "1G"})").status, 200);
  }
  test.settle();
  test.metrics().gates({kept_promise(1), held_launches(2)});
  const auto jobs_of = [&test](const Caller& caller) {
    const nlohmann::json answer = nlohmann::json::parse(test->gpus(caller).body);
    nlohmann::json by_id;
    for (const nlohmann::json& gpu : answer.at("gpus")) {
      for (const nlohmann::json& job : gpu.at("jobs")) {
        by_id[job.at("id").get<JobId>() == 1 ? "first" : "second"] = job;
      }
    }
    return by_id;
  };
  EXPECT_EQ(jobs_of(caller_ann).at("first").at("gate").at("tail_ms"), 9.5);
  EXPECT_FALSE(jobs_of(caller_ann).at("second").contains("gate"));  // it has no SLO
  EXPECT_FALSE(jobs_of(caller_bob).at("first").contains("gate"));
}

}  // namespace
}  // namespace carpool::serve
