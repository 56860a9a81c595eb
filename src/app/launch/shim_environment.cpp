#include "app/launch/shim_environment.hpp"

#include <cstdlib>
#include <system_error>

#include <fmt/format.h>

#include "core/job_names.hpp"
#include "core/latency.hpp"
#include "interpose/launch/real_libcuda.hpp"

namespace carpool::app {
namespace {

constexpr double kDefaultQuantile = 0.99;

std::string in_front(const std::string& path, const std::string& others) {
  return others.empty() ? path : fmt::format("{}:{}", path, others);
}

std::string environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string number_text(const std::optional<std::uint64_t>& number) {
  return number ? std::to_string(*number) : "";
}

}  // namespace

Result<std::filesystem::path> find_shim_library() {
  std::error_code problem;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", problem);
  std::filesystem::path library =
      program.parent_path().parent_path() / "lib" / "carpool" / "libcarpool_cuda.so";
  if (problem || !std::filesystem::is_regular_file(library, problem)) {
    return not_found(
        fmt::format("the library {} is missing: build it (./start --build-only), or copy the "
                    "folders bin and lib of the bundle together",
                    library.string()));
  }
  return library;
}

// A program that runs with the library starts another one: the loader would name the library.
Result<std::string> find_driver(const std::filesystem::path& library) {
  const std::string preloaded = environment_variable("LD_PRELOAD");
  const bool is_preloaded = preloaded.find(library.filename().string()) != std::string::npos;
  std::string driver = is_preloaded ? environment_variable("CARPOOL_REAL_LIBCUDA")
                                    : interpose::find_real_libcuda().value_or(std::string());
  if (driver.empty()) {
    return fail(ErrorCode::Unsupported,
                "the loader finds no libcuda.so.1: install NVIDIA's driver, or name its folder in "
                "LD_LIBRARY_PATH");
  }
  return driver;
}

std::map<std::string, std::string> gate_environment(const GateSettings& gate) {
  std::map<std::string, std::string> variables = {{"CARPOOL_SHIM_CLASS", ""},
                                                  {"CARPOOL_SHIM_SLO_NS", ""},
                                                  {"CARPOOL_SHIM_QUANTILE", ""},
                                                  {kGatePolicyVariable, ""},
                                                  {"CARPOOL_SHIM_MPS", gate.mps ? "1" : ""}};
  if (gate.job_class != JobClass::Normal) {
    variables["CARPOOL_SHIM_CLASS"] = name_of(gate.job_class);
  }
  if (gate.job_class == JobClass::BestEffort) {
    variables[kGatePolicyVariable] = gate.policy;
  }
  if (gate.job_class == JobClass::Slo && gate.slo_ms) {
    variables["CARPOOL_SHIM_SLO_NS"] = fmt::format("{:.0f}", *gate.slo_ms * 1e6);
    variables["CARPOOL_SHIM_QUANTILE"] =
        fmt::format("{}", gate.quantile.value_or(kDefaultQuantile));
  }
  return variables;
}

std::map<std::string, std::string> shim_environment(const ShimSettings& settings,
                                                    const OwnVariables& own) {
  // Some programs open "libcuda.so"; this folder has the library by that name.
  const std::filesystem::path by_name = settings.library.parent_path() / "cuda";
  std::map<std::string, std::string> variables = {
      {"LD_PRELOAD", in_front(settings.library.string(), own.preload)},
      {"LD_LIBRARY_PATH", in_front(by_name.string(), own.library_path)},
      {"CARPOOL_REAL_LIBCUDA", settings.real_libcuda},
      {"CARPOOL_STATE_DIR", settings.state_folder.string()},
      {"CARPOOL_SHIM_NAME", settings.name},
      {"CARPOOL_SHIM_JOB", std::to_string(settings.job)},
      {"CARPOOL_SHIM_LIMIT", number_text(settings.limit_bytes)},
      {"CARPOOL_SHIM_GUARANTEE", number_text(settings.guarantee_bytes)}};
  variables.merge(gate_environment(settings.gate));
  // Ranges of a program with an SLO may mark its requests.
  if (settings.gate.job_class == JobClass::Slo && own.nvtx_tool.empty()) {
    variables[kNvtxToolVariable] = settings.library.string();
  }
  // With several queues, streams that wait for one another take time from the requests beside which
  // they wait (docs/gate.md).
  if (settings.gate.job_class == JobClass::BestEffort && own.connections.empty()) {
    variables[kConnectionsVariable] = "1";
  }
  return variables;
}

}  // namespace carpool::app
