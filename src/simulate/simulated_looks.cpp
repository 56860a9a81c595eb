// What observers see of the simulated GPUs, and when.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "simulate/draws.hpp"
#include "simulate/simulated_executor.hpp"

namespace carpool::simulate {
namespace {

// Seconds from a change of a GPU to the looks at it; the last step repeats. A look each second
// would show the same again: speeds are constant between changes.
constexpr std::array kLookAfter = {
    3.0, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 60.0, 90.0, 150.0, 300.0, 600.0, 1200.0};
// After this number of looks the next is far away, and growth starts them anew.
constexpr std::size_t kCloseLooks = 3;
// Progress is counted in short windows.
constexpr double kShortestCount = 2.0;
constexpr double kLongestCount = 3.0;
// Streams of draws, apart from those of start-up times.
constexpr std::uint64_t kActivityDraws = 0x5a17'0000'0000'0001U;
constexpr std::uint64_t kRateDraws = 0x5a17'0000'0000'0002U;
constexpr std::uint64_t kHasRateDraws = 0x5a17'0000'0000'0003U;
constexpr std::uint64_t kUnitDraws = 0x5a17'0000'0000'0004U;
constexpr std::uint64_t kMostMeasured = std::uint64_t{1} << 32U;  // in one attempt

// Launches a second of a workload that runs solo: any number, as long as it stays the same.
double solo_launches_per_s(std::uint32_t workload) {
  constexpr double kLeast = 100.0;
  constexpr double kRange = 20.0;
  return kLeast * std::pow(kRange, draw_uniform(0, workload, kUnitDraws));
}

}  // namespace

void SimulatedExecutor::keep_moment(unsigned index) {
  if (options_.keep_moments) {
    moments_.push_back({.at_s = now_s_,
                        .gpu = index,
                        .sm_active = gpus_[index].sm_active,
                        .memory_bytes = gpus_[index].memory_bytes});
  }
}

void SimulatedExecutor::mark(unsigned index, bool group_changed) {
  Gpu& gpu = gpus_[index];
  if (!gpu.changed) {
    gpu.changed = true;
    changed_.push_back(index);
  }
  if (group_changed || gpu.looks > kCloseLooks) {
    gpu.looks = 0;
    ++gpu.look_version;
    look_again(index);
  }
  keep_moment(index);
}

// On whole seconds, as a server that looks each second, so that several GPUs are looked at
// together.
void SimulatedExecutor::look_again(unsigned index) {
  Gpu& gpu = gpus_[index];
  if (gpu.residents.empty()) {
    return;
  }
  const std::size_t last = kLookAfter.size() - 1;
  const double before = gpu.looks == 0 ? 0.0 : kLookAfter.at(std::min(gpu.looks, last) - 1);
  const double after = kLookAfter.at(std::min(gpu.looks, last)) - before;
  looks_.push({.at_s = std::ceil(now_s_ + after), .gpu = index, .version = gpu.look_version});
}

void SimulatedExecutor::look(const Look& due) {
  Gpu& gpu = gpus_[due.gpu];
  if (gone_by(due)) {
    return;
  }
  if (!gpu.changed) {
    gpu.changed = true;
    changed_.push_back(due.gpu);
  }
  gpu.looked_at = true;
  ++gpu.looks;
  look_again(due.gpu);
}

GpuPressure SimulatedExecutor::sample(unsigned index) {
  Gpu& gpu = gpus_[index];
  const GpuPressure now = gpu.window.now();
  const double noise = 1.0 + options_.constants.activity_noise *
                                 draw_normal(options_.seed ^ kActivityDraws, index, gpu.samples++);
  const auto shown = [noise](double value) { return std::clamp(value * noise, 0.0, 1.0); };
  return {.sm_active = shown(now.sm_active),
          .sm_occupancy = shown(now.sm_occupancy),
          .dram_active = shown(now.dram_active)};
}

std::optional<MeasuredRate> SimulatedExecutor::measure(Running& run) {
  const double over_s = std::min(now_s_ - run.paced_s, kLongestCount);
  const auto job = static_cast<std::uint64_t>(run.id.job);
  if (!run.computes() || over_s < kShortestCount ||
      draw_uniform(options_.seed ^ kHasRateDraws, job, 0) >= options_.rates) {
    return std::nullopt;
  }
  run.paced_s = now_s_;
  const double noise = 1.0 + options_.constants.rate_noise *
                                 draw_normal(options_.seed ^ kRateDraws,
                                             job,
                                             run.id.attempt * kMostMeasured + run.measured++);
  return MeasuredRate{.per_s = std::max(solo_launches_per_s(run.workload) * run.speed * noise, 0.0),
                      .over_s = over_s,
                      .source = ProgressSource::Launches};
}

GpuObservation SimulatedExecutor::observation(unsigned index, bool with_sample) {
  const Gpu& gpu = gpus_[index];
  GpuObservation seen{.gpu = index, .used_bytes = gpu.memory_bytes};
  if (options_.watch_pressure) {
    seen.pressure = gpu.window.summary(options_.constants, now_s_);
  }
  if (with_sample) {
    seen.latest = sample(index);
  }
  for (const std::size_t resident : gpu.residents) {
    Running& run = running_[resident];
    if (run.memory_bytes > 0) {
      seen.jobs.push_back({.job = run.id.job,
                           .bytes = run.memory_bytes,
                           .rate = with_sample ? measure(run) : std::nullopt});
    }
  }
  return seen;
}

std::vector<GpuObservation> SimulatedExecutor::observe_all() {
  catch_up();
  std::vector<GpuObservation> seen;
  seen.reserve(gpus_.size());
  for (unsigned gpu = 0; gpu < gpus_.size(); ++gpu) {
    seen.push_back(observation(gpu, true));
  }
  return seen;
}

std::vector<GpuObservation> SimulatedExecutor::take_observations() {
  catch_up();
  std::vector<GpuObservation> seen;
  std::vector<unsigned> again;
  for (const unsigned index : changed_) {
    Gpu& gpu = gpus_[index];
    seen.push_back(observation(index, std::exchange(gpu.looked_at, false)));
    if (options_.watch_pressure && gpu.unsettled_until_s > now_s_) {
      again.push_back(index);
    } else {
      gpu.changed = false;
    }
  }
  changed_ = std::move(again);
  return seen;
}

}  // namespace carpool::simulate
