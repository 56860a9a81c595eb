// The GPUs of the simulated executor: how fast their jobs run.
#include <algorithm>
#include <utility>

#include "simulate/simulated_executor.hpp"

namespace carpool::simulate {
namespace {

constexpr double kLeastSpeed = 1e-6;

}  // namespace

std::vector<double> SimulatedExecutor::speeds_of(std::span<const std::size_t> group) {
  std::vector<double> speeds(group.size(), 1.0);
  if (group.size() < 2) {
    return speeds;
  }
  if (options_.thread_limits) {
    std::vector<InterferenceMember> members;
    for (const std::size_t member : group) {
      members.push_back({.workload = running_[member].work.workload,
                         .thread_limit = running_[member].thread_limit});
    }
    return truth_.progress(members);
  }
  std::vector<std::uint32_t> workloads;
  for (const std::size_t member : group) {
    workloads.push_back(running_[member].workload);
  }
  interference_->progress(workloads, speeds);
  return speeds;
}

// The groups on these GPUs have changed: every member gets a new speed. A job on several GPUs runs
// at the speed of the slowest.
void SimulatedExecutor::regroup(std::span<const unsigned> gpus) {
  std::vector<std::size_t> touched;
  for (const unsigned index : gpus) {
    Gpu& gpu = gpus_[index];
    account(gpu);
    std::vector<std::size_t> group;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < gpu.residents.size(); ++i) {
      if (running_[gpu.residents[i]].computes()) {
        group.push_back(gpu.residents[i]);
        places.push_back(i);
      }
    }
    touched.insert(touched.end(), group.begin(), group.end());
    const std::vector<double> speeds = speeds_of(group);
    for (std::size_t i = 0; i < places.size(); ++i) {
      gpu.speeds[places[i]] = speeds[i];
    }
  }
  std::vector<unsigned> shown(gpus.begin(), gpus.end());
  for (const std::size_t index : touched) {
    Running& run = running_[index];
    double speed = 1.0;
    for (const unsigned gpu : run.gpus) {
      const auto place =
          std::ranges::find(gpus_[gpu].residents, index) - gpus_[gpu].residents.begin();
      speed = std::min(speed, gpus_[gpu].speeds[static_cast<std::size_t>(place)]);
    }
    settle(run);
    if (speed != run.speed || run.done_s == 0.0) {
      run.speed = std::max(speed, kLeastSpeed);
      run.paced_s = now_s_;
      shown.insert(shown.end(), run.gpus.begin(), run.gpus.end());
      const double left = std::max(run.work.solo_s - run.done_s, 0.0);
      schedule(now_s_ + left / run.speed, Step::Finish, index);
    }
  }
  std::ranges::sort(shown);
  const auto twice = std::ranges::unique(shown);
  shown.erase(twice.begin(), twice.end());
  for (const unsigned gpu : shown) {
    show_activity(gpu);
  }
}

void SimulatedExecutor::account(Gpu& gpu) {
  gpu.busy_s += gpu.sm_active * (now_s_ - gpu.since_s);
  gpu.since_s = now_s_;
}

void SimulatedExecutor::show_activity(unsigned index) {
  Gpu& gpu = gpus_[index];
  account(gpu);
  GpuPressure pressure;
  for (const std::size_t resident : gpu.residents) {
    const Running& run = running_[resident];
    const double speed = run.computes() ? run.speed : 0.0;
    pressure.sm_active += speed * run.work.sm_active;
    pressure.sm_occupancy += speed * run.work.sm_occupancy;
    pressure.dram_active += speed * run.work.dram_active;
  }
  gpu.sm_active = std::min(pressure.sm_active, 1.0);
  const SimulationConstants& constants = options_.constants;
  gpu.window.change(now_s_,
                    {.sm_active = constants.counter_sm * gpu.sm_active,
                     .sm_occupancy = constants.counter_sm * std::min(pressure.sm_occupancy, 1.0),
                     .dram_active = std::min(constants.counter_dram * pressure.dram_active, 1.0)});
  gpu.unsettled_until_s = now_s_ + constants.window_s;
  mark(index);
}

double SimulatedExecutor::busy_gpu_seconds() const {
  double busy = 0.0;
  for (const Gpu& gpu : gpus_) {
    busy += gpu.busy_s + gpu.sm_active * (now_s_ - gpu.since_s);
  }
  return busy;
}

double SimulatedExecutor::energy_joules_since(double start_s) const {
  const double gpu_seconds = std::max(now_s_ - start_s, 0.0) * static_cast<double>(gpus_.size());
  return options_.constants.idle_watts * gpu_seconds +
         options_.constants.slope_watts * busy_gpu_seconds();
}

}  // namespace carpool::simulate
