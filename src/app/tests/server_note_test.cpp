// What submitters are told that the server does not do for their jobs.
#include "app/launch/server_note.hpp"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

namespace carpool::app {
namespace {

using nlohmann::json;

bool tells(const json& request, const std::string& words, const json& more = json::object()) {
  json status = {{"mode", "gpus"}, {"policy", "carpool"}, {"library", true}, {"slo_in_mps", false}};
  status.update(more);
  const std::string told = shortcoming(status, request);
  return words.empty() ? told.empty() : told.find(words) != std::string::npos;
}

json serving() {
  return {{"class", "slo"}, {"slo_ms", 5.0}, {"env", {{"HOME", "/"}}}};
}

json training(const char* policy) {
  return {{"class", "best-effort"}, {"env", {{"CARPOOL_SHIM_POLICY", policy}}}};
}

TEST(ServerNote, UsualJobsAreToldNothing) {
  EXPECT_TRUE(tells({{"argv", {"true"}}}, ""));
  EXPECT_TRUE(tells(serving(), ""));
  EXPECT_TRUE(tells({{"class", "best-effort"}}, ""));
  EXPECT_TRUE(tells(training("time"), ""));
  EXPECT_TRUE(tells(serving(), "simulates", {{"mode", "simulated"}}));
  EXPECT_TRUE(tells(serving(), "does not keep latencies", {{"library", false}}));
}

TEST(ServerNote, AJobThatRunsWithoutTheLibraryHasNoLatency) {
  json job = serving();
  job["env"]["CARPOOL_SHIM"] = "off";
  EXPECT_TRUE(tells(job, "keeps the library in front of the driver out"));
  job = serving();
  job["exclusive"] = true;
  EXPECT_TRUE(tells(job, "an exclusive job"));
  job = serving();
  job["gpus"] = 2;
  EXPECT_TRUE(tells(job, "a job on several GPUs"));
  EXPECT_TRUE(tells(job, "", {{"policy", "carma"}})) << "there it shares its GPUs";
  // Class normal: no latency is expected.
  EXPECT_TRUE(tells({{"exclusive", true}}, ""));
}

TEST(ServerNote, AClassWithoutALatencyKeepsNone) {
  EXPECT_TRUE(tells({{"class", "slo"}}, "class slo without a latency"));
}

TEST(ServerNote, APolicyThatNeedsMpsIsReplacedBesideAServiceOutsideOfIt) {
  EXPECT_TRUE(tells(training("orion"), "spacetime takes the place of orion"));
  EXPECT_TRUE(tells(training("priority"), "spacetime takes the place of priority"));
  EXPECT_TRUE(tells(training("orion"), "", {{"slo_in_mps", true}}));
  EXPECT_TRUE(tells(training("orion"), "", {{"library", false}}));
}

}  // namespace
}  // namespace carpool::app
