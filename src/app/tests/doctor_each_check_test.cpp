// Every check of `carpool doctor`: fine, degraded, missing; what it finds and what it advises.
#include <string>

#include <gtest/gtest.h>

#include "app/doctor/doctor_checks.hpp"
#include "app/tests/healthy_machine.hpp"

namespace carpool::app {
namespace {

void expect_check(const DoctorFacts& facts,
                  const std::string& name,
                  CheckState state,
                  const std::string& found,
                  const std::string& advice) {
  const DoctorCheck check = check_of(facts, name);
  EXPECT_EQ(check.state, state) << name;
  EXPECT_EQ(check.found, found) << name;
  EXPECT_EQ(check.advice, advice) << name;
}

bool can_share_with(const DoctorFacts& facts) {
  return can_share(doctor_checks(facts));
}

TEST(DoctorDriver, IsShownByVersionOrByItsProblem) {
  DoctorFacts facts = healthy();
  expect_check(facts, "driver", CheckState::Ok, "580.159.04", "");
  facts.gpus.clear();
  expect_check(facts, "driver", CheckState::Ok, "responds", "");
  facts.nvml_problem = "driver/library version mismatch";
  facts.pci_gpus = 2;
  expect_check(facts,
               "driver",
               CheckState::Missing,
               "driver/library version mismatch",
               "2 NVIDIA GPUs are on the PCI bus: install the NVIDIA driver");
  facts.pci_gpus = 0;
  expect_check(facts,
               "driver",
               CheckState::Missing,
               "driver/library version mismatch",
               "no NVIDIA GPU is on the PCI bus: run Carpool on a machine that has one");
  EXPECT_FALSE(can_share_with(facts));
}

TEST(DoctorNvml, IsFoundByTheLoaderOrMissing) {
  DoctorFacts facts = healthy();
  expect_check(facts, "NVML library", CheckState::Ok, "/usr/lib/libnvidia-ml.so.1", "");
  facts.nvml_library.reset();
  expect_check(facts,
               "NVML library",
               CheckState::Missing,
               "the loader does not find libnvidia-ml.so.1",
               "install the driver, which includes it; start a container with the NVIDIA runtime "
               "(--gpus all)");
  EXPECT_FALSE(can_share_with(facts));
}

TEST(DoctorGpus, AreListedWithTheirMemory) {
  DoctorFacts facts = healthy();
  facts.gpus.push_back(facts.gpus[0]);
  facts.gpus[1].index = 1;
  facts.gpus[1].memory_bytes = (std::uint64_t{79} << 30U) + (std::uint64_t{1} << 29U);
  expect_check(
      facts, "GPUs", CheckState::Ok, "0: NVIDIA H200, 140 GiB; 1: NVIDIA H200, 79.5 GiB", "");
  facts.gpus.clear();
  expect_check(facts,
               "GPUs",
               CheckState::Missing,
               "none visible",
               "the driver responds but lists no GPU: check `nvidia-smi -L` and the kernel log");
  facts.nvml_problem = "no driver";  // the check of the driver has the advice
  expect_check(facts, "GPUs", CheckState::Missing, "none visible", "");
  EXPECT_FALSE(can_share_with(facts));
}

TEST(DoctorDeviceFiles, MustExistAndBeUsable) {
  DoctorFacts facts = healthy();
  expect_check(facts, "device files", CheckState::Ok, "2 files, all usable", "");
  facts.device_files[0].usable = false;
  expect_check(facts,
               "device files",
               CheckState::Degraded,
               "this user cannot open /dev/nvidia0",
               "ask the administrator to add you to the group that owns them (ls -l /dev/nvidia*)");
  facts.device_files.clear();
  expect_check(facts,
               "device files",
               CheckState::Missing,
               "no /dev/nvidia* exists",
               "load the driver's kernel module (modprobe nvidia; nvidia-smi as root)");
  EXPECT_TRUE(can_share_with(facts));
}

TEST(DoctorComputeMode, ProhibitedPreventsSharingExclusiveDoesNot) {
  DoctorFacts facts = healthy();
  expect_check(facts, "compute mode", CheckState::Ok, "default", "");
  facts.gpus[0].compute_mode = "exclusive-process";
  expect_check(facts,
               "compute mode",
               CheckState::Degraded,
               "exclusive-process on GPU 0: only one MPS server can use it",
               "time slicing needs the default mode: run `nvidia-smi -i N -c DEFAULT` as root");
  EXPECT_TRUE(can_share_with(facts));
  facts.gpus[0].compute_mode = "prohibited";
  expect_check(facts,
               "compute mode",
               CheckState::Missing,
               "prohibited on GPU 0: no program can run there",
               "run `nvidia-smi -i N -c DEFAULT` as root");
  EXPECT_FALSE(can_share_with(facts));
}

TEST(DoctorMigAndCounters, NameTheGpusConcerned) {
  DoctorFacts facts = healthy();
  expect_check(facts, "MIG mode", CheckState::Ok, "off", "");
  expect_check(facts, "SM counters (GPM)", CheckState::Ok, "available on every GPU", "");
  for (unsigned index : {1U, 2U}) {
    facts.gpus.push_back(facts.gpus[0]);
    facts.gpus[index].index = index;
    facts.gpus[index].mig_enabled = true;
    facts.gpus[index].fine_activity = false;
  }
  expect_check(facts,
               "MIG mode",
               CheckState::Degraded,
               "on for GPU 1, 2",
               "Carpool shares whole GPUs: turn MIG off with `nvidia-smi -i N -mig 0` as root");
  expect_check(
      facts,
      "SM counters (GPM)",
      CheckState::Degraded,
      "not available on GPU 1, 2",
      "they need Hopper or newer; Carpool shows coarser utilisation in their place and marks it");
  EXPECT_TRUE(can_share_with(facts));
}

TEST(DoctorKernelCounters, ForRootOnlyAreFineForRoot) {
  DoctorFacts facts = healthy();
  expect_check(facts, "kernel counters", CheckState::Ok, "all users may read them", "");
  facts.counters_for_admin_only = true;
  expect_check(facts,
               "kernel counters",
               CheckState::Degraded,
               "only root may read them",
               "profile as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0");
  facts.admin = true;
  expect_check(facts,
               "kernel counters",
               CheckState::Ok,
               "only root may read them, and this user is root",
               "");
  facts.counters_for_admin_only.reset();
  expect_check(facts,
               "kernel counters",
               CheckState::Degraded,
               "the driver does not report who may read them",
               "if kernel profiling is refused, run it as root");
  EXPECT_TRUE(can_share_with(facts));
}

TEST(DoctorMps, IsNeededAndAnOldOneLacksFunctions) {
  DoctorFacts facts = healthy();
  expect_check(facts, "MPS", CheckState::Ok, "/usr/bin/nvidia-cuda-mps-control, CUDA 13.0", "");
  facts.mps->client_priority = false;
  facts.mps->pinned_memory_limit = false;
  facts.mps->version.clear();
  expect_check(facts,
               "MPS",
               CheckState::Degraded,
               "/usr/bin/nvidia-cuda-mps-control; not supported: client priorities, memory limits",
               "update the driver, which includes MPS");
  EXPECT_TRUE(can_share_with(facts));
  facts.mps = fail(ErrorCode::Unsupported, "install it");
  expect_check(facts, "MPS", CheckState::Missing, "no usable control program", "install it");
  EXPECT_FALSE(can_share_with(facts));
}

TEST(DoctorOtherMps, IsReportedWithTheCommandThatStopsIt) {
  DoctorFacts facts = healthy();
  expect_check(
      facts, "other MPS daemons", CheckState::Ok, "none in the driver's default folder", "");
  const std::string advice =
      "Carpool starts its own daemon elsewhere, but programs started by hand connect to this one "
      "and share the GPU without Carpool's knowledge; stop it with `echo quit | "
      "nvidia-cuda-mps-control`";
  facts.foreign_mps = ForeignMps{.folder = "/mps", .pid = 17};
  expect_check(facts, "other MPS daemons", CheckState::Degraded, "process 17 in /mps", advice);
  facts.foreign_mps->pid.reset();
  expect_check(facts, "other MPS daemons", CheckState::Degraded, "one in /mps", advice);
  EXPECT_TRUE(can_share_with(facts));
}

TEST(DoctorRuntimeFolder, MustBeWritableAndShort) {
  DoctorFacts facts = healthy();
  expect_check(
      facts, "runtime folder", CheckState::Ok, "/run/user/1000/carpool, 1024 MiB free", "");
  facts.runtime_free_bytes = std::uint64_t{3} << 20U;
  expect_check(facts,
               "runtime folder",
               CheckState::Degraded,
               "/run/user/1000/carpool, 3 MiB free",
               "job logs are written there: free some space");
  EXPECT_TRUE(can_share_with(facts));
  facts.runtime_free_bytes.reset();
  expect_check(facts,
               "runtime folder",
               CheckState::Missing,
               "/run/user/1000/carpool: not writable",
               "set XDG_RUNTIME_DIR to a folder that you own");
  EXPECT_FALSE(can_share_with(facts));
  facts = healthy();
  facts.runtime_folder = "/" + std::string(67, 'x');  // 68 and 32 below it: just short enough
  EXPECT_TRUE(can_share_with(facts));
  facts.runtime_folder = "/" + std::string(68, 'x');
  expect_check(facts,
               "runtime folder",
               CheckState::Missing,
               "/" + std::string(68, 'x') + ": path too long for sockets",
               "set XDG_RUNTIME_DIR to a shorter path");
  EXPECT_FALSE(can_share_with(facts));
}

TEST(DoctorLimits, TooFewOpenFilesAreAWarning) {
  DoctorFacts facts = healthy();
  expect_check(facts, "limits", CheckState::Ok, "4096 open files, locked memory unlimited", "");
  facts.open_files = 256;
  facts.locked_bytes = 65536;
  expect_check(
      facts,
      "limits",
      CheckState::Degraded,
      "256 open files, locked memory 64 KiB",
      "too few open files for many jobs on one GPU: raise the limit with `ulimit -n 1024`");
  EXPECT_TRUE(can_share_with(facts));
}

TEST(DoctorProfilers, AreOptional) {
  DoctorFacts facts = healthy();
  expect_check(facts, "CUPTI", CheckState::Ok, "/usr/lib/libcupti.so.13", "");
  expect_check(facts, "Nsight Compute", CheckState::Ok, "/usr/bin/ncu", "");
  facts.cupti.reset();
  facts.ncu.reset();
  expect_check(
      facts,
      "CUPTI",
      CheckState::Missing,
      "the loader finds neither libcupti.so.13 nor libcupti.so.12",
      "only kernel profiling needs it: install the CUDA toolkit, or PyTorch, which includes "
      "it (pip: nvidia-cuda-cupti)");
  expect_check(facts,
               "Nsight Compute",
               CheckState::Missing,
               "ncu is not on PATH",
               "only kernel profiling needs it: install the CUDA toolkit, which includes it");
  facts.cupti_elsewhere = "/opt/cuda/lib64/libcupti.so.12";
  expect_check(facts,
               "CUPTI",
               CheckState::Degraded,
               "/opt/cuda/lib64/libcupti.so.12",
               "the loader does not search this folder: add /opt/cuda/lib64 to LD_LIBRARY_PATH");
  EXPECT_TRUE(can_share_with(facts));
}

TEST(DoctorPyTorch, IsCheckedOnRequestOnly) {
  DoctorFacts facts = healthy();
  const std::size_t without = doctor_checks(facts).size();
  facts.python = PythonFacts{.found = true, .torch = "2.11.0, CUDA usable", .said = ""};
  EXPECT_EQ(doctor_checks(facts).size(), without + 1);
  expect_check(facts, "PyTorch", CheckState::Ok, "2.11.0, CUDA usable", "");
  const std::string advice =
      "only the bundled workloads need it: install PyTorch with CUDA to run them";
  facts.python = PythonFacts{.found = true, .torch = "", .said = "No module named 'torch'"};
  expect_check(
      facts, "PyTorch", CheckState::Missing, "python3 reports: No module named 'torch'", advice);
  facts.python->found = false;
  expect_check(facts, "PyTorch", CheckState::Missing, "python3 is not on PATH", advice);
  EXPECT_TRUE(can_share_with(facts));
}

TEST(DoctorCgroups, AreDividedWithLimitsOrSaidNotToBe) {
  DoctorFacts facts = healthy();
  expect_check(facts,
               "cgroups",
               CheckState::Ok,
               "each job of the server (process 17) has one, with limits",
               "");
  facts.cgroups.use.limits_memory = false;
  DoctorCheck check = check_of(facts, "cgroups");
  EXPECT_EQ(check.state, CheckState::Degraded);
  EXPECT_TRUE(check.found.ends_with("without limits on host memory")) << check.found;
  EXPECT_NE(check.advice.find("DelegateSubgroup=server"), std::string::npos);
  facts.cgroups.use = {};
  check = check_of(facts, "cgroups");
  EXPECT_EQ(check.state, CheckState::Degraded);
  EXPECT_EQ(check.found, "the server (process 17) may not divide its cgroup");
  EXPECT_NE(check.advice.find("Delegate=pids memory"), std::string::npos);
  facts.cgroups.server.reset();
  expect_check(facts, "cgroups", CheckState::Ok, "version 2; no server is running", "");
  facts.cgroups = {};
  check = check_of(facts, "cgroups");
  EXPECT_EQ(check.state, CheckState::Degraded);
  EXPECT_EQ(check.found, "version 2 is not mounted");
  EXPECT_TRUE(can_share_with(facts));
}

}  // namespace
}  // namespace carpool::app
