#include "app/output/gate_text.hpp"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "app/output/job_text.hpp"
#include "app/server/shim/gate_tally.hpp"
#include "interpose/gate/decision.hpp"

namespace carpool::app {
namespace {

using interpose::GateReport;
using interpose::gate::HoldReason;

GateReport of_slo() {
  return {.slo_ns = 20'000'000,
          .quantile_millionths = 990'000,
          .requests = 2000,
          .late_requests = 2,
          .p50_ns = 3'100'000,
          .tail_ns = 9'800'000};
}

GateReport of_best_effort() {
  GateReport report{.policy = 1};
  const auto hold = [&](HoldReason reason, std::uint64_t launches, std::uint64_t ms) {
    report.holds[static_cast<std::size_t>(reason)] = launches;
    report.held_ns[static_cast<std::size_t>(reason)] = ms * 1'000'000;
  };
  hold(HoldReason::InFlightBound, 30, 500);
  hold(HoldReason::RequestActive, 10, 1500);
  return report;
}

TEST(GateText, SaysHowThePromiseIsKept) {
  EXPECT_EQ(promise_text(serve::gate_view(gate_of(of_slo()))),
            "99.9 % of 2000 requests within 20 ms (goal 99 %); p50 3.1 ms, p99 9.8 ms");
  GateReport late = of_slo();
  late.requests = 350;
  late.late_requests = 349;
  EXPECT_TRUE(promise_text(serve::gate_view(gate_of(late))).starts_with("0.286 % of 350 requests"));
  late.requests = 35'000;
  late.late_requests = 3;
  EXPECT_TRUE(promise_text(serve::gate_view(gate_of(late))).starts_with("99.991 % of 35000"));
  GateReport fresh = of_slo();
  fresh.requests = fresh.late_requests = 0;
  EXPECT_EQ(promise_text(serve::gate_view(gate_of(fresh))),
            "99 % of the requests within 20 ms; none has ended yet");
  EXPECT_EQ(held_text(serve::gate_view(gate_of(fresh))), "");
}

TEST(GateText, AMissedGoalIsNotShownAsKept) {
  const auto shown = [](double attainment, double goal) {
    const std::string text = promise_text(
        {{"slo_ms", 20.0}, {"quantile", goal}, {"attainment", attainment}, {"requests", 5000}});
    return text.substr(0, text.find(" %"));
  };
  EXPECT_EQ(shown(0.9896, 0.99), "98.9");
  EXPECT_EQ(shown(0.98999999, 0.99), "98.9");
  EXPECT_EQ(shown(0.99, 0.99), "99");
  EXPECT_EQ(shown(0.998999, 0.999), "99.899");
  EXPECT_EQ(shown(0.999, 0.999), "99.9");
  EXPECT_EQ(shown(0.9499, 0.95), "94.9");
  EXPECT_EQ(shown(0.57, 0.6), "57");
  EXPECT_EQ(shown(0.999999, 0.99), "99.999");
  EXPECT_EQ(shown(1.0, 0.99), "100");
}

TEST(GateText, NamesTheReasonsOfHoldsTheLongestFirst) {
  const nlohmann::json gate = serve::gate_view(gate_of(of_best_effort()));
  EXPECT_EQ(held_text(gate), "2 s in 40 waits, most: a request with an SLO is active");
  EXPECT_EQ(holds_text("train.py", gate),
            "train.py: held 2 s in 40 waits, most: a request with an SLO is active (policy "
            "spacetime)\n"
            "      1.500 s         10 x  a request with an SLO is active (request-active)\n"
            "      0.500 s         30 x  best-effort work in flight has reached its bound "
            "(in-flight-bound)\n");
  EXPECT_EQ(promise_text(gate), "");
}

TEST(GateText, JobsWithoutAReportAreToldWhy) {
  using nlohmann::json;
  const json status = {{"mode", "gpus"}, {"library", true}};
  EXPECT_NE(job_holds_text({{"id", 3}, {"class", "normal"}}, status).find("do not wait"),
            std::string::npos);
  json job = {{"id", 3},
              {"class", "slo"},
              {"slo_ms", 20.0},
              {"state", "queued"},
              {"attempts", json::array()},
              {"env", json::object()}};
  EXPECT_EQ(job_holds_text(job, status),
            "Job 3 of class slo has no report of its requests: it has not started yet\n");
  const auto why = [&](const json& of_server) {
    const std::string text = job_holds_text(job, of_server);
    return text.substr(text.find(": ") + 2);
  };
  EXPECT_EQ(why({{"mode", "simulated"}}), "the server simulates its GPUs, and runs no program\n");
  job["state"] = "cancelled";
  EXPECT_EQ(why(status), "it ended before it started\n");
  job["attempts"] = {{{"mechanism", "none"}}};
  EXPECT_EQ(why(status),
            "it has ended, and reported none or the server keeps its report no longer\n");
  job["state"] = "queued";
  EXPECT_EQ(why(status), "it waits to start again\n");
  job["state"] = "running";
  EXPECT_TRUE(why(status).starts_with("it has its GPUs to itself"));
  job["attempts"][0]["mechanism"] = "time-slicing";
  EXPECT_TRUE(why(status).starts_with("no process of it has used a GPU"));
  EXPECT_TRUE(why({{"library", false}}).starts_with("the server runs without the library"));
  job["env"]["CARPOOL_SHIM"] = "off";
  EXPECT_TRUE(why(status).starts_with("its environment keeps"));
  job.erase("slo_ms");
  EXPECT_EQ(why(status), "it states no latency, as --slo does\n");
}

TEST(GateText, OnlyABestEffortJobIsShownWithItsPolicy) {
  nlohmann::json job = {{"id", 3},
                        {"argv", {"x"}},
                        {"attempts", nlohmann::json::array()},
                        {"class", "best-effort"},
                        {"env", {{"CARPOOL_SHIM_POLICY", "time"}}}};
  EXPECT_NE(show_text(job).find("gate policy  time"), std::string::npos);
  for (const char* other : {"normal", "slo"}) {
    job["class"] = other;
    EXPECT_EQ(show_text(job).find("gate policy"), std::string::npos);
  }
}

TEST(GateTally, CountsStayWhenAProcessEnds) {
  GateTally tally;
  tally.look({{{0, 1, 1}, of_slo()}, {{0, 2, 1}, of_slo()}});
  EXPECT_EQ(tally.total().requests, 4000U);
  tally.look({{{0, 2, 1}, of_slo()}, {{0, 1, 2}, of_slo()}});  // the first slot has a new owner
  EXPECT_EQ(tally.total().requests, 6000U);
  tally.look({});
  EXPECT_EQ(tally.total().requests, 6000U);
  EXPECT_EQ(tally.total().late_requests, 6U);
  EXPECT_TRUE(takes_part(tally.total()));
  EXPECT_EQ(tally.total().tail_ns, 0U);  // of no process that runs
}

TEST(GateTally, NumbersOfANewerLibraryAreShownAsTheyAre) {
  GateReport report{.policy = 90};
  report.holds.back() = 1;
  const serve::JobGate gate = gate_of(report);
  EXPECT_EQ(gate.policy, "89");
  ASSERT_EQ(gate.holds.size(), 1U);
  EXPECT_EQ(gate.holds[0].reason, "23");
}

}  // namespace
}  // namespace carpool::app
