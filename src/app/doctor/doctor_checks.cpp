#include "app/doctor/doctor_checks.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace carpool::app {
namespace {

// For an MPS daemon, its servers and 48 clients on one GPU.
constexpr std::uint64_t kEnoughOpenFiles = 1024;
constexpr std::uint64_t kEnoughRuntimeBytes = std::uint64_t{16} << 20U;
constexpr std::size_t kLongestPipePath = 100;

DoctorCheck check_mps(const DoctorFacts& facts) {
  DoctorCheck check = start_check("MPS", CheckNeeded::Yes);
  if (!facts.mps) {
    check.state = CheckState::Missing;
    check.found = "no usable control program";
    check.advice = facts.mps.error().message;
    return check;
  }
  const gpu::MpsAbilities& mps = *facts.mps;
  std::vector<std::string> lacking;
  const auto note = [&](bool there, const char* ability) {
    if (!there) {
      lacking.emplace_back(ability);
    }
  };
  note(mps.terminate_client, "termination of a client");
  note(mps.client_priority, "client priorities");
  note(mps.pinned_memory_limit, "memory limits");
  check.found = mps.version.empty() ? mps.program.string()
                                    : fmt::format("{}, CUDA {}", mps.program.string(), mps.version);
  if (!lacking.empty()) {
    check.state = CheckState::Degraded;
    check.found += fmt::format("; not supported: {}", fmt::join(lacking, ", "));
    check.advice = "update the driver, which includes MPS";
  }
  return check;
}

DoctorCheck check_foreign_mps(const DoctorFacts& facts) {
  DoctorCheck check = start_check("other MPS daemons");
  if (!facts.foreign_mps) {
    check.found = "none in the driver's default folder";
    return check;
  }
  const ForeignMps& other = *facts.foreign_mps;
  check.state = CheckState::Degraded;
  check.found = other.pid ? fmt::format("process {} in {}", *other.pid, other.folder.string())
                          : fmt::format("one in {}", other.folder.string());
  check.advice =
      "Carpool starts its own daemon elsewhere, but programs started by hand connect to this one "
      "and "
      "share the GPU without Carpool's knowledge; stop it with `echo quit | "
      "nvidia-cuda-mps-control`";
  return check;
}

DoctorCheck check_cupti(const DoctorFacts& facts) {
  DoctorCheck check = start_check("CUPTI");
  if (facts.cupti) {
    check.found = facts.cupti->string();
    return check;
  }
  check.state = facts.cupti_elsewhere ? CheckState::Degraded : CheckState::Missing;
  check.found = facts.cupti_elsewhere
                    ? facts.cupti_elsewhere->string()
                    : "the loader finds neither libcupti.so.13 nor libcupti.so.12";
  check.advice =
      facts.cupti_elsewhere
          ? fmt::format("the loader does not search this folder: add {} to LD_LIBRARY_PATH",
                        facts.cupti_elsewhere->parent_path().string())
          : "only kernel profiling needs it: install the CUDA toolkit, or PyTorch, which includes "
            "it "
            "(pip: nvidia-cuda-cupti)";
  return check;
}

DoctorCheck check_ncu(const DoctorFacts& facts) {
  DoctorCheck check = start_check("Nsight Compute");
  if (facts.ncu) {
    check.found = facts.ncu->string();
    return check;
  }
  check.state = CheckState::Missing;
  check.found = "ncu is not on PATH";
  check.advice = "only kernel profiling needs it: install the CUDA toolkit, which includes it";
  return check;
}

DoctorCheck check_limits(const DoctorFacts& facts) {
  DoctorCheck check = start_check("limits");
  const bool unlimited = facts.locked_bytes == ~std::uint64_t{0};
  check.found =
      fmt::format("{} open files, locked memory {}",
                  facts.open_files,
                  unlimited ? "unlimited" : fmt::format("{} KiB", facts.locked_bytes / 1024));
  if (facts.open_files < kEnoughOpenFiles) {
    check.state = CheckState::Degraded;
    check.advice = fmt::format(
        "too few open files for many jobs on one GPU: raise the limit with `ulimit -n {}`",
        kEnoughOpenFiles);
  }
  return check;
}

DoctorCheck check_runtime_folder(const DoctorFacts& facts) {
  DoctorCheck check = start_check("runtime folder", CheckNeeded::Yes);
  check.found = facts.runtime_folder.string();
  // For mps/GPU/pipe and the names of the sockets of the driver.
  constexpr std::size_t kBelow = 32;
  if (!facts.runtime_free_bytes) {
    check.state = CheckState::Missing;
    check.found += ": not writable";
    check.advice = "set XDG_RUNTIME_DIR to a folder that you own";
  } else if (check.found.size() + kBelow > kLongestPipePath) {
    check.state = CheckState::Missing;
    check.found += ": path too long for sockets";
    check.advice = "set XDG_RUNTIME_DIR to a shorter path";
  } else {
    check.found += fmt::format(", {} MiB free", *facts.runtime_free_bytes >> 20U);
    if (*facts.runtime_free_bytes < kEnoughRuntimeBytes) {
      check.state = CheckState::Degraded;
      check.advice = "job logs are written there: free some space";
    }
  }
  return check;
}

DoctorCheck check_python(const PythonFacts& python) {
  DoctorCheck check = start_check("PyTorch");
  check.found = python.torch;
  if (python.torch.empty()) {
    check.state = CheckState::Missing;
    check.found =
        python.found ? fmt::format("python3 reports: {}", python.said) : "python3 is not on PATH";
    check.advice = "only the bundled workloads need it: install PyTorch with CUDA to run them";
  }
  return check;
}

}  // namespace

DoctorCheck start_check(std::string name, CheckNeeded needed) {
  DoctorCheck check;
  check.name = std::move(name);
  check.needed = needed == CheckNeeded::Yes;
  return check;
}

std::vector<DoctorCheck> doctor_checks(const DoctorFacts& facts) {
  std::vector<DoctorCheck> checks = doctor_gpu_checks(facts);
  checks.push_back(check_mps(facts));
  checks.push_back(check_foreign_mps(facts));
  checks.push_back(check_runtime_folder(facts));
  for (DoctorCheck& check : doctor_server_checks(facts.servers)) {
    checks.push_back(std::move(check));
  }
  for (DoctorCheck& check : doctor_shim_checks(facts.shim)) {
    checks.push_back(std::move(check));
  }
  checks.push_back(check_limits(facts));
  checks.push_back(check_cgroups(facts));
  checks.push_back(check_cupti(facts));
  checks.push_back(check_ncu(facts));
  if (facts.python) {
    checks.push_back(check_python(*facts.python));
  }
  return checks;
}

bool can_share(const std::vector<DoctorCheck>& checks) {
  return std::none_of(checks.begin(), checks.end(), [](const DoctorCheck& check) {
    return check.needed && check.state == CheckState::Missing;
  });
}

}  // namespace carpool::app
