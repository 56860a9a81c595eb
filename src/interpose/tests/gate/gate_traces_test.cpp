// The decisions of each policy in one scenario, compared line by line with traces/*.txt. Renew with
//   CARPOOL_RENEW_TRACES=1 build/ci/bin/carpool_interpose_gate_test --gtest_filter='*GateTraces*'
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "interpose/gate/policy.hpp"
#include "interpose/tests/gate/simulation.hpp"

namespace carpool::interpose::gate {
namespace {

SimulatedKernel traced_kernel(const char* name,
                              Nanoseconds believed_us,
                              Nanoseconds true_us,
                              std::uint32_t sms,
                              Bottleneck bottleneck) {
  return {.name = name,
          .work = {.bottleneck = bottleneck,
                   .known = true,
                   .expected_ns = believed_us * kMicrosecond,
                   .bound_ns = believed_us * kMicrosecond * 5 / 4,
                   .sms = sms,
                   .blocks = std::uint64_t{sms} * 4},
          .true_ns = true_us * kMicrosecond};
}

SimulatedClient traced_slo_client() {
  SimulatedClient client{.name = "slo", .host_ns = 10 * kMicrosecond};
  client.terms = {.job_class = JobClass::Slo, .slo_ns = 10 * kMillisecond};
  for (int i = 0; i < 4; ++i) {
    client.kernels.push_back(traced_kernel("gemm", 60, 66, 100, Bottleneck::Compute));
  }
  client.arrivals = {500 * kMicrosecond, 2000 * kMicrosecond};
  return client;
}

SimulatedClient traced_trainer() {
  SimulatedClient client{.name = "train"};
  client.terms.limit_permille = 500;
  client.kernels = {traced_kernel("add", 10, 12, 132, Bottleneck::Memory),
                    traced_kernel("norm", 20, 15, 40, Bottleneck::Memory),
                    traced_kernel("conv", 400, 450, 132, Bottleneck::Compute),
                    traced_kernel("copy", 80, 80, 20, Bottleneck::Memory)};
  client.kernels.push_back(
      {.name = "new", .work = {.sms = 132, .blocks = 528}, .true_ns = 200 * kMicrosecond});
  return client;
}

Scenario traced_scenario(const std::string& policy) {
  return {.policy = policy,
          .device = {.mps = true, .sm_limits = true},
          .clients = {traced_slo_client(), traced_trainer()},
          .end = 3200 * kMicrosecond};
}

struct TracedScenario {
  std::string file;
  Scenario scenario;
};

void enlarge_kernels(SimulatedClient& client, std::uint64_t times) {
  for (SimulatedKernel& kernel : client.kernels) {
    kernel.work.blocks *= times;
  }
}

std::vector<Nanoseconds> regular_arrivals(Nanoseconds period, int count) {
  std::vector<Nanoseconds> arrivals;
  arrivals.reserve(static_cast<std::size_t>(count));
  for (int i = 1; i <= count; ++i) {
    arrivals.push_back(period * i);
  }
  return arrivals;
}

// The scenario, with what the policy needs for a trace that shows its decisions.
Scenario traced_scenario_of(const std::string& policy) {
  Scenario scenario = traced_scenario(policy);
  if (policy == "tgs") {
    scenario.end = 110 * kMillisecond;  // its windows are longer than the scenario
  } else if (policy == "hami") {
    scenario.end = 300 * kMillisecond;  // as with tgs
    enlarge_kernels(scenario.clients[1], 2000);
  } else if (policy == "antman") {
    // Slots are estimated from regular arrivals.
    scenario.clients[0].arrivals = regular_arrivals(2 * kMillisecond, 24);
    scenario.trace_from = 43900 * kMicrosecond;
    scenario.end = 48 * kMillisecond;
  } else if (policy == "priority") {
    scenario.end = 800 * kMicrosecond;  // every launch is a line
  } else if (policy == "salus") {
    scenario.clients[1].declares = true;
  }
  return scenario;
}

std::vector<TracedScenario> traced_scenarios() {
  std::vector<TracedScenario> all;
  for (const Policy& policy : policies()) {
    const std::string name(policy.name);
    all.push_back({.file = name, .scenario = traced_scenario_of(name)});
  }
  Scenario sliced = traced_scenario("spacetime");
  sliced.device = {};
  all.push_back({.file = "spacetime-no-mps", .scenario = sliced});
  Scenario unconfined = traced_scenario("spacetime");
  unconfined.device.sm_limits = false;
  all.push_back({.file = "spacetime-no-sm-limits", .scenario = unconfined});
  Scenario killed = traced_scenario("spacetime");
  killed.clients[0].declares = true;
  killed.clients[0].dies_at = 600 * kMicrosecond;
  killed.end = 700 * kMicrosecond;
  all.push_back({.file = "spacetime-slo-killed", .scenario = killed});
  Scenario pair = traced_scenario("spacetime");
  pair.clients.push_back(traced_trainer());
  pair.clients[2].name = "train2";
  pair.clients[2].terms.weight = 2;
  all.push_back({.file = "spacetime-two-best-effort", .scenario = pair});
  return all;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class GateTraces : public testing::TestWithParam<TracedScenario> {};

TEST_P(GateTraces, AreThoseOfTheFile) {
  const std::filesystem::path path = std::filesystem::path(CARPOOL_SOURCE_DIR) /
                                     "src/interpose/tests/gate/traces" / (GetParam().file + ".txt");
  const std::string trace = simulate(GetParam().scenario).trace;
  if (std::getenv("CARPOOL_RENEW_TRACES") != nullptr) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << trace;
  }
  EXPECT_EQ(trace, text_of(path)) << "decisions changed; the head of this test tells how to renew";
}

INSTANTIATE_TEST_SUITE_P(Policies,
                         GateTraces,
                         testing::ValuesIn(traced_scenarios()),
                         [](const auto& traced) {
                           std::string name = traced.param.file;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace carpool::interpose::gate
