#include "app/doctor/doctor_checks.hpp"

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "app/doctor/doctor_output.hpp"
#include "app/tests/healthy_machine.hpp"

namespace carpool::app {
namespace {

bool works(const DoctorFacts& facts) {
  return can_share(doctor_checks(facts));
}

TEST(Doctor, AHealthyMachineIsOkThroughoutAndNeedsNoAdvice) {
  ASSERT_EQ(doctor_checks(healthy()).size(), 21U);
  for (const DoctorCheck& check : doctor_checks(healthy())) {
    EXPECT_EQ(check.state, CheckState::Ok) << check.name;
    EXPECT_EQ(check.advice, "") << check.name;
    EXPECT_NE(check.found, "") << check.name;
  }
  EXPECT_TRUE(works(healthy()));
  EXPECT_EQ(doctor_verdict(healthy(), doctor_checks(healthy())),
            "Jobs can share the GPUs of this machine.");
}

TEST(Doctor, WithoutAGpuTheVerdictNamesTheCommandsThatWork) {
  DoctorFacts facts = healthy();
  facts.pci_gpus = 0;
  facts.gpus.clear();
  facts.nvml_library.reset();
  facts.nvml_problem = "no driver";
  const std::vector<DoctorCheck> checks = doctor_checks(facts);
  EXPECT_FALSE(can_share(checks));
  const std::string verdict = doctor_verdict(facts, checks);
  EXPECT_TRUE(verdict.starts_with("This machine has no NVIDIA GPU to share.")) << verdict;
  EXPECT_NE(verdict.find("`carpool demo`"), std::string::npos) << verdict;
  EXPECT_TRUE(std::none_of(
      checks.begin(), checks.end(), [](const auto& check) { return check.name == "MIG mode"; }));
}

TEST(Doctor, AGpuWithoutADriverDiffersFromNoGpu) {
  DoctorFacts facts = healthy();
  facts.gpus.clear();
  facts.nvml_problem = "no driver";
  EXPECT_NE(check_of(facts, "driver").advice.find("1 NVIDIA GPU is on the PCI bus"),
            std::string::npos);
  const std::string verdict = doctor_verdict(facts, doctor_checks(facts));
  EXPECT_EQ(verdict, "Jobs cannot share the GPUs of this machine: fix driver, GPUs first.");
}

TEST(Doctor, ReadsWhoMayReadTheCounters) {
  EXPECT_EQ(parse_admin_only("Foo: 1\nRmProfilingAdminOnly: 1\nBar: 0\n"), true);
  EXPECT_EQ(parse_admin_only("RmProfilingAdminOnly: 0\n"), false);
  EXPECT_EQ(parse_admin_only("Foo: 1\n"), std::nullopt);
  EXPECT_EQ(parse_admin_only("RmProfilingAdminOnly: "), std::nullopt);
}

TEST(Doctor, AdviceStandsUnderWhatWasFound) {
  DoctorCheck bad = start_check("MPS", CheckNeeded::Yes);
  bad.state = CheckState::Missing;
  bad.found = "none";
  bad.advice = "install it";
  DoctorCheck good = start_check("driver");
  good.found = "580";
  EXPECT_EQ(render_checks({good, bad}, false),
            "ok        driver  580\n"
            "missing   MPS     none\n"
            "                  install it\n");
  EXPECT_NE(render_checks({good}, true).find("\033[32mok"), std::string::npos);
  EXPECT_EQ(checks_to_json({bad}),
            nlohmann::json::parse(R"([{"name": "MPS", "state": "missing", "found": "none",
                                       "advice": "install it", "needed": true}])"));
}

}  // namespace
}  // namespace carpool::app
