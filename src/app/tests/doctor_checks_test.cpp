#include "app/doctor/doctor_checks.hpp"

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "app/doctor/doctor_output.hpp"

namespace carpool::app {
namespace {

// A machine on which all is well.
DoctorFacts healthy() {
  DoctorFacts facts;
  facts.pci_gpus = 1;
  facts.nvml_library = "/usr/lib/libnvidia-ml.so.1";
  GpuInfo gpu;
  gpu.name = "NVIDIA H200";
  gpu.driver = "580.159.04";
  gpu.compute_mode = "default";
  gpu.fine_activity = true;
  gpu.memory_bytes = std::uint64_t{140} << 30U;
  facts.gpus = {gpu};
  facts.device_files = {{"/dev/nvidia0", true}, {"/dev/nvidiactl", true}};
  gpu::MpsAbilities mps;
  mps.program = "/usr/bin/nvidia-cuda-mps-control";
  mps.version = "13.0";
  mps.terminate_client = mps.client_priority = mps.pinned_memory_limit = true;
  facts.mps = mps;
  facts.cupti = "/usr/lib/libcupti.so.13";
  facts.ncu = "/usr/bin/ncu";
  facts.counters_for_admin_only = false;
  facts.open_files = 4096;
  facts.locked_bytes = ~std::uint64_t{0};
  facts.runtime_folder = "/run/user/1000/carpool";
  facts.runtime_free_bytes = std::uint64_t{1} << 30U;
  return facts;
}

DoctorCheck check_of(const DoctorFacts& facts, const std::string& name) {
  const std::vector<DoctorCheck> checks = doctor_checks(facts);
  const auto found = std::find_if(
      checks.begin(), checks.end(), [&](const DoctorCheck& check) { return check.name == name; });
  if (found == checks.end()) {
    ADD_FAILURE() << "no check " << name;
    return {};
  }
  return *found;
}

bool works(const DoctorFacts& facts) {
  return can_share(doctor_checks(facts));
}

TEST(Doctor, AHealthyMachineIsOkThroughoutAndNeedsNoAdvice) {
  for (const DoctorCheck& check : doctor_checks(healthy())) {
    EXPECT_EQ(check.state, CheckState::Ok) << check.name;
    EXPECT_EQ(check.advice, "") << check.name;
    EXPECT_NE(check.found, "") << check.name;
  }
  EXPECT_TRUE(works(healthy()));
}

TEST(Doctor, WithoutAGpuItSaysWhatWorksAllTheSame) {
  DoctorFacts facts = healthy();
  facts.pci_gpus = 0;
  facts.gpus.clear();
  facts.nvml_library.reset();
  facts.nvml_problem = "no driver";
  const std::vector<DoctorCheck> checks = doctor_checks(facts);
  EXPECT_FALSE(can_share(checks));
  const std::string verdict = doctor_verdict(facts, checks);
  EXPECT_NE(verdict.find("no NVIDIA GPU"), std::string::npos) << verdict;
  EXPECT_NE(verdict.find("carpool demo"), std::string::npos) << verdict;
  EXPECT_TRUE(std::none_of(
      checks.begin(), checks.end(), [](const auto& check) { return check.name == "MIG mode"; }));
}

TEST(Doctor, AGpuWithoutADriverIsToldFromNoGpu) {
  DoctorFacts facts = healthy();
  facts.gpus.clear();
  facts.nvml_problem = "no driver";
  EXPECT_NE(check_of(facts, "driver").advice.find("1 NVIDIA GPU is on the PCI bus"),
            std::string::npos);
  const std::string verdict = doctor_verdict(facts, doctor_checks(facts));
  EXPECT_NE(verdict.find("fix driver, GPUs first"), std::string::npos) << verdict;
}

TEST(Doctor, SharingNeedsMps) {
  DoctorFacts facts = healthy();
  facts.mps = fail(ErrorCode::Unsupported, "install it");
  EXPECT_FALSE(works(facts));
  EXPECT_EQ(check_of(facts, "MPS").advice, "install it");
}

TEST(Doctor, AnOldMpsWorksWithLess) {
  DoctorFacts facts = healthy();
  facts.mps->client_priority = false;
  EXPECT_TRUE(works(facts));
  EXPECT_EQ(check_of(facts, "MPS").state, CheckState::Degraded);
  EXPECT_NE(check_of(facts, "MPS").found.find("priorities"), std::string::npos);
}

TEST(Doctor, AProhibitedGpuCannotBeSharedAnExclusiveOneCan) {
  DoctorFacts facts = healthy();
  facts.gpus[0].compute_mode = "prohibited";
  EXPECT_FALSE(works(facts));
  facts.gpus[0].compute_mode = "exclusive-process";
  EXPECT_TRUE(works(facts));
  EXPECT_EQ(check_of(facts, "compute mode").state, CheckState::Degraded);
}

TEST(Doctor, NamesTheGpusInMigModeAndThoseWithoutCounters) {
  DoctorFacts facts = healthy();
  facts.gpus.push_back(facts.gpus[0]);
  facts.gpus[1].index = 1;
  facts.gpus[1].mig_enabled = true;
  facts.gpus[1].fine_activity = false;
  EXPECT_EQ(check_of(facts, "MIG mode").found, "on for GPU 1");
  EXPECT_EQ(check_of(facts, "SM counters (GPM)").found, "not available on GPU 1");
  EXPECT_TRUE(works(facts));
}

TEST(Doctor, AForeignDaemonIsPointedOutAndLeftAlone) {
  DoctorFacts facts = healthy();
  facts.foreign_mps = ForeignMps{.folder = "/somewhere", .pid = 17};
  const DoctorCheck check = check_of(facts, "other MPS daemons");
  EXPECT_EQ(check.state, CheckState::Degraded);
  EXPECT_NE(check.found.find("17"), std::string::npos);
  EXPECT_TRUE(works(facts));
}

TEST(Doctor, CountersForRootAloneAreFineForRoot) {
  DoctorFacts facts = healthy();
  facts.counters_for_admin_only = true;
  EXPECT_EQ(check_of(facts, "kernel counters").state, CheckState::Degraded);
  facts.admin = true;
  EXPECT_EQ(check_of(facts, "kernel counters").state, CheckState::Ok);
}

TEST(Doctor, DeviceFilesOfOthersAreNamed) {
  DoctorFacts facts = healthy();
  facts.device_files[0].usable = false;
  EXPECT_EQ(check_of(facts, "device files").found, "this user cannot open /dev/nvidia0");
}

TEST(Doctor, CuptiOutsideTheLoadersWayIsPointedAt) {
  DoctorFacts facts = healthy();
  facts.cupti.reset();
  EXPECT_EQ(check_of(facts, "CUPTI").state, CheckState::Missing);
  facts.cupti_elsewhere = "/opt/cuda/lib64/libcupti.so.12";
  EXPECT_EQ(check_of(facts, "CUPTI").state, CheckState::Degraded);
  EXPECT_NE(check_of(facts, "CUPTI").advice.find("add /opt/cuda/lib64 to LD_LIBRARY_PATH"),
            std::string::npos);
}

TEST(Doctor, PipesNeedAShortPathThatCanBeWritten) {
  DoctorFacts facts = healthy();
  facts.runtime_folder = "/" + std::string(90, 'x');
  EXPECT_FALSE(works(facts));
  facts = healthy();
  facts.runtime_free_bytes.reset();
  EXPECT_FALSE(works(facts));
  facts.runtime_free_bytes = 1024;
  EXPECT_EQ(check_of(facts, "runtime folder").state, CheckState::Degraded);
}

TEST(Doctor, FewOpenFilesAreWarnedOf) {
  DoctorFacts facts = healthy();
  facts.open_files = 256;
  EXPECT_EQ(check_of(facts, "limits").state, CheckState::Degraded);
}

TEST(Doctor, PythonIsOnlyLookedAtOnDemand) {
  DoctorFacts facts = healthy();
  const std::size_t before = doctor_checks(facts).size();
  facts.python = PythonFacts{.found = true, .torch = "", .said = "No module named 'torch'"};
  EXPECT_EQ(doctor_checks(facts).size(), before + 1);
  EXPECT_NE(check_of(facts, "PyTorch").found.find("No module"), std::string::npos);
  EXPECT_TRUE(works(facts));
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
  EXPECT_EQ(checks_to_json({bad}).at(0).at("state"), "missing");
}

}  // namespace
}  // namespace carpool::app
