// One decision of a placement policy about a long queue and many busy GPUs.
#include <deque>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "bench_case.hpp"
#include "knowledge/pairs/pair_table.hpp"
#include "policy/policy_registry.hpp"
#include "simulate/draws.hpp"
#include "simulate/trace/trace.hpp"

namespace carpool {
namespace {

constexpr std::size_t kJobs = 1000;
constexpr unsigned kGpus = 512;
constexpr std::uint64_t kSeed = 1;

struct Moment {
  std::unique_ptr<knowledge::PairTable> speeds;
  std::unique_ptr<PlacementPolicy> policy;
  std::vector<GpuView> gpus;
  std::vector<QueuedJob> jobs;
  std::vector<const QueuedJob*> queue;

  [[nodiscard]] PlacementDecision decide() const {
    return policy->decide({.now_s = 0.0, .gpus = gpus, .queue = queue}, *speeds);
  }
};

const simulate::TraceJob& drawn(const simulate::Trace& trace,
                                std::uint64_t subject,
                                std::uint64_t turn) {
  const auto count = static_cast<double>(trace.jobs.size());
  return trace.jobs[static_cast<std::size_t>(simulate::draw_uniform(kSeed, subject, turn) * count)];
}

// GPUs with zero to three jobs each; every second job of the queue has another run time.
std::shared_ptr<Moment> busy_moment(const std::filesystem::path& folder, const std::string& name) {
  auto moment = std::make_shared<Moment>();
  const simulate::Trace trace = *simulate::read_trace(folder / "aegis_philly60.csv");
  moment->speeds = *knowledge::PairTable::load(folder, 1.0);
  policy::PolicySettings settings = policy::default_settings(name);
  settings.depth = kJobs;
  moment->policy = *policy::make_placement_policy(name, settings);
  moment->gpus.resize(kGpus);
  for (unsigned i = 0; i < kGpus; ++i) {
    GpuView& gpu = moment->gpus[i];
    gpu.index = i;
    gpu.memory_bytes = 40960 * simulate::kMebibyte;
    gpu.mps_possible = true;
    const auto residents = static_cast<std::size_t>(4.0 * simulate::draw_uniform(kSeed, i, 0));
    for (std::size_t j = 0; j < residents; ++j) {
      const simulate::TraceJob& job = drawn(trace, i, 1 + j);
      if (job.gpus == 1 && job.peak_bytes < gpu.free_bytes()) {
        Resident resident{.job = static_cast<JobId>(10000 + 10 * i + j), .workload = job.workload};
        resident.mechanism = ShareMechanism::Mps;
        resident.reserved_bytes = job.peak_bytes;
        resident.remaining_s = job.alone_s * simulate::draw_uniform(kSeed, i, 100 + j);
        gpu.residents.push_back(resident);
      }
    }
  }
  for (std::size_t i = 0; i < kJobs; ++i) {
    const simulate::TraceJob& job = drawn(trace, i, 200);
    QueuedJob queued{.job = static_cast<JobId>(i + 1), .workload = job.workload};
    queued.gpus = job.gpus;
    queued.need_bytes = job.peak_bytes;
    queued.runtime_s = job.alone_s * (0.7 + 0.6 * simulate::draw_uniform(kSeed, i, 201));
    moment->jobs.push_back(queued);
  }
  for (const QueuedJob& job : moment->jobs) {
    moment->queue.push_back(&job);
  }
  return moment;
}

}  // namespace

std::vector<BenchCase> placement_cases(const BenchData& data) {
  std::vector<BenchCase> cases;
  const std::filesystem::path folder = data.dataset.folder / ".." / "carma-traces";
  for (const std::string name : {"carpool", "kace", "magm", "exclusive"}) {
    const auto moment = busy_moment(folder, name);
    cases.push_back({.name = "decide/" + name,
                     .run = [moment] { return static_cast<double>(moment->decide().place.size()); },
                     .answer =
                         [moment] {
                           const PlacementDecision decision = moment->decide();
                           return nlohmann::json{{"placed", decision.place.size()},
                                                 {"deferred", decision.defer.size()}};
                         }});
  }
  return cases;
}

}  // namespace carpool
