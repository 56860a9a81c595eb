#include "serve/metrics/metrics.hpp"

#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "serve/tests/test_api.hpp"

namespace carpool::serve {
namespace {

JobEvent metric_event(double at_s, auto what) {
  return {.sequence = 1, .job = 1, .at_s = at_s, .what = std::move(what)};
}

std::set<std::string> lines_of(const std::string& page) {
  std::set<std::string> lines;
  std::istringstream stream(page);
  for (std::string line; std::getline(stream, line);) {
    lines.insert(line);
  }
  return lines;
}

class MetricsPage : public testing::Test {
 protected:
  [[nodiscard]] std::set<std::string> lines() const {
    return lines_of(metrics_.text(*server_.scheduler, "1.2.3", caller_operator));
  }
  schedule::StubServer server_{2};
  Metrics metrics_;
};

TEST_F(MetricsPage, IsWellFormed) {
  server_.submit(schedule::stub_job(1));
  server_.step(0.0);
  metrics_.decision(0.002);
  metrics_.request(200);
  std::istringstream page(metrics_.text(*server_.scheduler, "1.2.3", caller_operator));
  const std::regex sample(R"re(([a-z_]+)(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? [-+0-9.e]+)re");
  std::string family;
  std::map<std::string, std::string> types;
  int samples = 0;
  for (std::string line; std::getline(page, line);) {
    std::istringstream words(line);
    std::string hash;
    std::string keyword;
    if (line.starts_with("# HELP ")) {
      words >> hash >> keyword >> family;
      EXPECT_FALSE(types.contains(family)) << "two families " << family;
    } else if (line.starts_with("# TYPE ")) {
      std::string name;
      words >> hash >> keyword >> name;
      EXPECT_EQ(name, family);
      words >> types[family];
    } else {
      std::smatch parts;
      ASSERT_TRUE(std::regex_match(line, parts, sample)) << line;
      EXPECT_TRUE(parts.str(1).starts_with(family)) << line;
      ++samples;
    }
  }
  EXPECT_EQ(types.size(), metric_list().size());
  EXPECT_GT(samples, 20);
}

TEST_F(MetricsPage, ShowsJobsAndGpusAsTheyAre) {
  const JobId job = server_.submit(schedule::stub_job(1), 0.0, caller_ann.uid);
  server_.step(0.0);
  EXPECT_TRUE(server_.scheduler->hold(server_.submit(schedule::stub_job(1)), 0.0));
  server_.scheduler->set_draining(true);
  const auto page = lines();
  for (
      const std::string& line :
      {std::string(R"(carpool_build_info{version="1.2.3"} 1)"),
       std::string("carpool_draining 1"),
       std::string(R"(carpool_jobs{state="running"} 1)"),
       std::string(R"(carpool_jobs{state="held"} 1)"),
       std::string(R"(carpool_jobs{state="queued"} 0)"),
       fmt::format(
           R"(carpool_job_info{{job_id="{}",name="train",user="u1000",class="normal",share="mps",gpu="0"}} 1)",
           job),
       fmt::format(R"(carpool_gpu_memory_bytes{{gpu="0",uuid="GPU-0",kind="total"}} {})",
                   40 * schedule::kGiB),
       fmt::format(R"(carpool_gpu_memory_bytes{{gpu="0",uuid="GPU-0",kind="unclaimed"}} {})",
                   39 * schedule::kGiB),
       std::string(R"(carpool_gpu_jobs{gpu="0"} 1)"),
       std::string(R"(carpool_gpu_jobs{gpu="1"} 0)"),
       std::string(R"(carpool_gpu_usable{gpu="1"} 1)")}) {
    EXPECT_TRUE(page.contains(line)) << line;
  }
}

TEST_F(MetricsPage, CountsWhatHappens) {
  metrics_.count(metric_event(10.0, JobSubmitted{}), 10.0);
  metrics_.count(metric_event(30.0, JobStarted{}), 10.0);  // waited 20 s
  metrics_.count(metric_event(40.0, JobEnded{.exit = {.end = RunEnd::OutOfMemory}}), 10.0);
  metrics_.count(metric_event(40.0, JobRequeued{}), 40.0);
  metrics_.count(metric_event(41.0, JobStarted{}), 50.0);  // a clock that was set back
  metrics_.request(404);
  metrics_.request(404);
  const auto page = lines();
  for (const char* line : {"carpool_submissions_total 1",
                           "carpool_starts_total 2",
                           "carpool_requeues_total 1",
                           R"(carpool_ends_total{end="out-of-memory"} 1)",
                           R"(carpool_requests_total{status="404"} 2)",
                           R"(carpool_queue_wait_seconds_bucket{le="1"} 1)",
                           R"(carpool_queue_wait_seconds_bucket{le="15"} 1)",
                           R"(carpool_queue_wait_seconds_bucket{le="60"} 2)",
                           R"(carpool_queue_wait_seconds_bucket{le="+Inf"} 2)",
                           "carpool_queue_wait_seconds_sum 20",
                           "carpool_queue_wait_seconds_count 2"}) {
    EXPECT_TRUE(page.contains(line)) << line;
  }
}

TEST_F(MetricsPage, TellsOfPausesAndCaps) {
  const JobId first = server_.submit(schedule::stub_job(1));
  const JobId job = server_.submit(schedule::stub_job(1));
  server_.step(0.0);
  server_.see({{first, 1}, {job, 1}}, 1.0);
  server_.pause(job, 2.0);
  metrics_.count(metric_event(2.0, JobPaused{.cause = PauseCause::Memory}), 0.0);
  metrics_.count(metric_event(3.0, JobEnded{.exit = {.end = RunEnd::OverCap}}), 0.0);
  const auto page = lines();
  for (const char* line : {R"(carpool_pauses_total{cause="memory"} 1)",
                           R"(carpool_pauses_total{cause="turn"} 0)",
                           R"(carpool_paused_jobs{gpu="0"} 1)",
                           R"(carpool_ends_total{end="over-cap"} 1)",
                           "carpool_full_gpu_ends_total 0"}) {
    EXPECT_TRUE(page.contains(line)) << line;
  }
}

TEST_F(MetricsPage, AValueAtABoundBelongsToItsBucket) {
  metrics_.decision(0.001);
  const auto page = lines();
  EXPECT_TRUE(page.contains(R"(carpool_decision_seconds_bucket{le="0.0005"} 0)"));
  EXPECT_TRUE(page.contains(R"(carpool_decision_seconds_bucket{le="0.001"} 1)"));
}

TEST_F(MetricsPage, TellsOfTroubleOfTheMachine) {
  server_.executor.trouble = TroubleScope::Gpus;
  server_.submit(schedule::stub_job(1));
  server_.step(10.0);
  server_.step(10.25);
  metrics_.count(
      metric_event(10.0,
                   JobEnded{.exit = {.end = RunEnd::MachineTrouble, .scope = TroubleScope::Gpus}}),
      10.0);
  const auto page = lines();
  for (const char* line : {R"(carpool_machine_troubles_total{scope="gpus"} 1)",
                           R"(carpool_machine_troubles_total{scope="machine"} 0)",
                           R"(carpool_ends_total{end="machine-trouble"} 1)",
                           R"(carpool_start_pause_seconds{scope="gpus"} 1)",
                           R"(carpool_start_pause_seconds{scope="user"} 0)",
                           R"(carpool_gpu_usable{gpu="0"} 0)",
                           "carpool_unknown_attempts 0"}) {
    EXPECT_TRUE(page.contains(line)) << line;
  }
}

TEST_F(MetricsPage, EscapesLabels) {
  const std::string page = metrics_.text(*server_.scheduler, "a\"b\\c\nd", caller_operator);
  EXPECT_NE(page.find(R"re(carpool_build_info{version="a\"b\\c\nd"} 1)re"), std::string::npos);
}

}  // namespace
}  // namespace carpool::serve
