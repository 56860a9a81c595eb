#include "app/server/shim_jobs.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "app/launch/shim_environment.hpp"
#include "base/log.hpp"

namespace carpool::app {
namespace {

using interpose::StateError;

// For contexts of processes that start, which no entry of the state tells.
std::uint64_t headroom_of(std::uint64_t memory_bytes) {
  constexpr std::uint64_t kMost = std::uint64_t{256} << 20U;
  return std::min(kMost, memory_bytes / 64);
}

bool is_old_state(StateError error) {
  return error == StateError::Corrupt || error == StateError::OlderLayout ||
         error == StateError::NewerLayout;
}

std::string shim_value(const run::Variables& env, const std::string& name) {
  const auto found = env.find(name);
  return found == env.end() ? std::string() : found->second;
}

std::string shim_name(const JobSpec& job) {
  return !job.name.empty() ? job.name : std::filesystem::path(job.argv.front()).filename().string();
}

}  // namespace

ShimJobs::ShimJobs(ShimPlace place, const std::vector<GpuView>& gpus)
    : place_(std::move(place)), gpus_(gpus) {}

StateError ShimJobs::enter(const LaunchSpec& spec, const std::string& uuid) const {
  const uid_t uid = user_of(spec.owner);
  const std::string folder = place_.state_of(uid).string();
  interpose::StateReader state;
  StateError error = state.open(folder, uuid, uid, interpose::StateFile::Missing::Make);
  if (is_old_state(error) &&
      interpose::remove_unused_state(folder, uuid, uid) == StateError::None) {
    error = state.open(folder, uuid, uid, interpose::StateFile::Missing::Make);
  }
  const auto gpu = std::ranges::find(gpus_, uuid, &GpuView::uuid);
  if (error == StateError::None && gpu != gpus_.end() && gpu->memory_bytes > 0) {
    error = state.set_gpu_memory(gpu->memory_bytes, headroom_of(gpu->memory_bytes));
  }
  if (error != StateError::None) {
    return error;
  }
  return state.set_limits(
      static_cast<std::uint64_t>(spec.run.job),
      {.job_class = spec.job.job_class == JobClass::Slo ? interpose::JobClass::Slo
                                                        : interpose::JobClass::BestEffort,
       .limit_bytes = spec.memory_limit_bytes.value_or(interpose::kUnlimited)});
}

run::Variables ShimJobs::start(const LaunchSpec& spec, const run::Variables& env) {
  if (spec.mechanism == ShareMechanism::None || !accepts_shim(env)) {
    return {};
  }
  for (const std::string& uuid : spec.gpu_uuids) {
    if (const StateError error = enter(spec, uuid); error != StateError::None) {
      log_warning(
          fmt::format("job {} runs without the library in front of the driver: the shared state of "
                      "{} in {}: {}",
                      spec.run.job,
                      uuid,
                      place_.state_of(user_of(spec.owner)).string(),
                      interpose::describe(error)));
      return {};
    }
  }
  return shim_environment({.library = place_.library,
                           .real_libcuda = place_.driver,
                           .state_folder = place_.state_of(user_of(spec.owner)),
                           .name = shim_name(spec.job),
                           .job = static_cast<std::uint64_t>(spec.run.job),
                           .slo = spec.job.job_class == JobClass::Slo,
                           .limit_bytes = spec.memory_limit_bytes},
                          shim_value(env, "LD_PRELOAD"),
                          shim_value(env, "LD_LIBRARY_PATH"));
}

}  // namespace carpool::app
