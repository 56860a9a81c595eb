#include "app/server/shim/shim_jobs.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "app/launch/shim_environment.hpp"
#include "base/log.hpp"
#include "core/latency.hpp"

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

std::uint64_t shim_number(JobId job) {
  return static_cast<std::uint64_t>(job);
}

interpose::JobClass shim_class(JobClass job_class) {
  return job_class == JobClass::Slo ? interpose::JobClass::Slo : interpose::JobClass::BestEffort;
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

interpose::JobLimits shim_limits(const GpuView& gpu,
                                 const Resident& resident,
                                 std::optional<std::uint64_t> owner_limit) {
  interpose::JobLimits limits{.job_class = shim_class(resident.job_class),
                              .limit_bytes = owner_limit.value_or(interpose::kUnlimited),
                              .guarantee_bytes = resident.reserved_bytes};
  if (resident.cap_bytes > 0) {
    const std::uint64_t claimed = std::max(resident.reserved_bytes, resident.used_bytes);
    const std::uint64_t now = std::min(resident.cap_bytes, claimed + gpu.free_bytes());
    limits.limit_bytes = std::min(limits.limit_bytes, now);
  }
  limits.guarantee_bytes = std::min(limits.guarantee_bytes, limits.limit_bytes);
  return limits;
}

StateError ShimJobs::enter(const LaunchSpec& spec, const std::string& uuid) {
  const uid_t uid = user_of(spec.owner);
  const std::string folder = place_.state_of(uid).string();
  interpose::StateReader state;
  StateError error = state.open(folder, uuid, uid, interpose::StateFile::Missing::Make);
  if (is_old_state(error) &&
      interpose::remove_unused_state(folder, uuid, uid) == StateError::None) {
    error = state.open(folder, uuid, uid, interpose::StateFile::Missing::Make);
  }
  interpose::StateReport found;
  if (error == StateError::None) {
    error = state.read(found);
  }
  const auto gpu = std::ranges::find(gpus_, uuid, &GpuView::uuid);
  if (error == StateError::None && gpu != gpus_.end() && gpu->memory_bytes > 0) {
    error = state.set_gpu_memory(gpu->memory_bytes, headroom_of(gpu->memory_bytes));
  }
  if (error != StateError::None) {
    return error;
  }
  remove_ended(state, uuid, found);
  const JobId job = spec.run.job;
  // The first observation tells what is reserved for it.
  Entry entry{.uid = uid,
              .limits = {.job_class = shim_class(spec.job.job_class),
                         .limit_bytes = spec.memory_limit_bytes.value_or(interpose::kUnlimited)}};
  const auto before = std::ranges::find(found.jobs, shim_number(job), &interpose::JobReport::job);
  entry.refusals = before == found.jobs.end() ? 0 : before->refusals;
  error = state.set_limits(shim_number(job), entry.limits);
  if (error == StateError::None) {
    without_.erase({job, uuid});
    entries_.insert_or_assign({job, uuid}, entry);
  }
  return error;
}

// Entries that a server has left whose jobs ended when it did not run: they would keep memory for
// no job.
void ShimJobs::remove_ended(interpose::StateReader& state,
                            const std::string& uuid,
                            const interpose::StateReport& found) const {
  if (scheduler_ == nullptr) {
    return;
  }
  std::set<std::uint64_t> running;
  for (const GpuView& gpu : scheduler_->gpus()) {
    for (const Resident& resident : gpu.residents) {
      if (gpu.uuid == uuid) {
        running.insert(shim_number(resident.job));
      }
    }
  }
  for (const interpose::JobReport& job : found.jobs) {
    if (job.kept && !running.contains(job.job)) {
      static_cast<void>(state.remove_job(job.job));  // it is tried again at the next start
    }
  }
}

interpose::StateReport ShimJobs::report(uid_t uid, const std::string& uuid) const {
  interpose::StateReader state;
  interpose::StateReport found;
  if (state.open(place_.state_of(uid).string(), uuid, uid) != StateError::None ||
      state.read(found) != StateError::None) {
    return {};
  }
  return found;
}

bool ShimJobs::find_entry(const Key& key, uid_t uid) {
  if (entries_.contains(key) || without_.contains(key)) {
    return entries_.contains(key);
  }
  for (const interpose::JobReport& job : report(uid, key.second).jobs) {
    if (job.kept && job.job == shim_number(key.first)) {
      entries_[key] = {.uid = uid,
                       .limits = {.job_class = job.job_class,
                                  .limit_bytes = job.limit_bytes,
                                  .guarantee_bytes = job.guarantee_bytes}};
      return true;
    }
  }
  without_.insert(key);
  return false;
}

void ShimJobs::write(const Key& key, Entry& entry, const interpose::JobLimits& limits) {
  // Measured memory changes a little all the time.
  constexpr std::uint64_t kSmall = std::uint64_t{16} << 20U;
  const auto is_near = [](std::uint64_t left, std::uint64_t right) {
    return std::max(left, right) - std::min(left, right) < kSmall;
  };
  if (is_near(entry.limits.limit_bytes, limits.limit_bytes) &&
      is_near(entry.limits.guarantee_bytes, limits.guarantee_bytes)) {
    return;
  }
  interpose::StateReader state;
  StateError error = state.open(place_.state_of(entry.uid).string(), key.second, entry.uid);
  if (error == StateError::None) {
    error = state.set_limits(shim_number(key.first), limits);
  }
  if (error == StateError::None) {
    entry.limits = limits;
  }  // else it is tried again
}

void ShimJobs::update() {
  if (scheduler_ == nullptr) {
    return;
  }
  std::set<Key> running;
  for (const GpuView& gpu : scheduler_->gpus()) {
    for (const Resident& resident : gpu.residents) {
      const JobRecord* record = scheduler_->find(resident.job);
      const Key key{resident.job, gpu.uuid};
      // A cap that does not count any more still holds for the processes with the library.
      if (record != nullptr && scheduler_->cap_escape(resident.job).empty() &&
          resident.mechanism != ShareMechanism::None && find_entry(key, user_of(record->owner))) {
        write(key, entries_.at(key), shim_limits(gpu, resident, record->spec.mem_limit_bytes));
      }
      running.insert(key);
    }
  }
  std::erase_if(without_, [&](const Key& key) { return !running.contains(key); });
  std::erase_if(entries_, [&](const auto& item) {
    const auto& [key, entry] = item;
    interpose::StateReader state;
    return !running.contains(key) &&
           (state.open(place_.state_of(entry.uid).string(), key.second, entry.uid) !=
                StateError::None ||
            state.remove_job(shim_number(key.first)) == StateError::None);
  });
}

bool ShimJobs::refused(RunId run) const {
  return std::ranges::any_of(entries_, [&](const auto& item) {
    const auto& [key, entry] = item;
    if (key.first != run.job) {
      return false;
    }
    const interpose::StateReport found = report(entry.uid, key.second);
    const auto job =
        std::ranges::find(found.jobs, shim_number(run.job), &interpose::JobReport::job);
    return job != found.jobs.end() && job->refusals > entry.refusals;
  });
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
                           .job = shim_number(spec.run.job),
                           .gate = {.job_class = spec.job.job_class,
                                    .slo_ms = spec.job.slo_ms,
                                    .quantile = spec.job.quantile,
                                    .policy = shim_value(env, kGatePolicyVariable),
                                    .mps = spec.mechanism == ShareMechanism::Mps},
                           .limit_bytes = spec.memory_limit_bytes},
                          {.preload = shim_value(env, "LD_PRELOAD"),
                           .library_path = shim_value(env, "LD_LIBRARY_PATH"),
                           .nvtx_tool = shim_value(env, kNvtxToolVariable),
                           .connections = shim_value(env, kConnectionsVariable)});
}

}  // namespace carpool::app
