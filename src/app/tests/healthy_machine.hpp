// A machine for the tests of doctor/.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/doctor/doctor_checks.hpp"

namespace carpool::app {

// A machine without a problem.
inline DoctorFacts healthy() {
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
  facts.shim = {.library = "/opt/carpool/lib/libcarpool_cuda.so",
                .driver = "/usr/lib/libcuda.so.580",
                .coverage = {.opened = "/opt/carpool/lib/libcarpool_cuda.so",
                             .driver_version = 13000,
                             .asked = 8000,
                             .missed = {}},
                .state_folder = "/run/user/1000/carpool/state"};
  facts.cgroups = {.mounted = true,
                   .server = 17,
                   .use = {.divided = true, .limits_processes = true, .limits_memory = true}};
  return facts;
}

inline DoctorCheck check_of(const DoctorFacts& facts, const std::string& name) {
  const std::vector<DoctorCheck> checks = doctor_checks(facts);
  const auto found = std::find_if(
      checks.begin(), checks.end(), [&](const DoctorCheck& check) { return check.name == name; });
  if (found == checks.end()) {
    ADD_FAILURE() << "no check " << name;
    return {};
  }
  return *found;
}

}  // namespace carpool::app
