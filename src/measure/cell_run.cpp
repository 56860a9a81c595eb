#include "measure/cell_run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "base/clock.hpp"

namespace carpool::measure {
namespace {

constexpr std::chrono::milliseconds kWindowPoll{1};
constexpr double kNanoseconds = 1e-9;
constexpr unsigned kCoresInMask = 64;

class CellRun {
 public:
  CellRun(const Cell& cell,
          const Plan& plan,
          WorkerPool& pool,
          TelemetrySource& telemetry,
          const std::function<bool()>& stop)
      : cell_(cell), plan_(plan), pool_(pool), telemetry_(telemetry), stop_(stop) {
    out_.key = key_of(cell, plan);
    out_.table = cell.table;
    out_.mechanism = name_of(cell.mechanism);
    out_.repeat = cell.repeat;
    for (const Member& member : cell.members) {
      MemberResult result;
      result.workload = plan.workloads[member.workload].name;
      result.thread_percentage = member.thread_percentage;
      result.low_priority = member.low_priority;
      out_.members.push_back(std::move(result));
    }
  }

  Result<Measurement> run() {
    auto files = pool_.acquire(cell_.members);
    if (!files) {
      return tl::unexpected(files.error());
    }
    if (!files->has_value()) {
      return finish(files->error());
    }
    files_ = std::move(**files);
    const Stopwatch spent;
    release();
    std::optional<Failure> failure = warm_up();
    Result<void> measured;
    if (!failure) {
      measured = open_window();
      failure = measured ? wait_for_window() : failure;
      measured = measured && !failure ? close_window() : measured;
      failure = measured && !failure ? wait_for_last_steps() : failure;
    }
    const std::optional<Failure> stuck = hold();
    out_.spent_seconds = spent.seconds();
    if (!measured) {
      return tl::unexpected(measured.error());
    }
    return finish(failure ? failure : stuck ? stuck : compute());
  }

 private:
  // Each member gets its own cores, so that members compete only for the GPU.
  void release() {
    const unsigned each = plan_.workers.cpus_each;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      std::uint64_t mask = 0;
      for (unsigned core = 0; core < each; ++core) {
        const std::size_t at = i * each + core;
        mask |= at < kCoresInMask ? std::uint64_t{1} << at : 0;
      }
      files_[i]->set_cores(mask);
      before_.push_back(files_[i]->steps());
    }
    for (const auto& file : files_) {
      file->give(profile::StepOrder::Run);
    }
  }

  // Waits until `done` holds for each member, a member dies, or `seconds` have passed.
  std::optional<Failure> wait(const std::function<bool(std::size_t)>& done, double seconds) {
    const Stopwatch waited;
    for (unsigned turn = 0;; ++turn) {
      bool all = true;
      for (std::size_t i = 0; i < files_.size(); ++i) {
        all = all && done(i);
      }
      if (all) {
        return std::nullopt;
      }
      if (turn % 16 == 0) {
        if (auto death = pool_.death_among(cell_.members)) {
          return death;
        }
        if (stop_() && !holding_) {
          return Failure{.reason = std::string(kStopped), .message = "stop requested"};
        }
      }
      if (waited.seconds() > seconds) {
        return Failure{
            .reason = "too-slow",
            .message = fmt::format("not finished after {} s", plan_.window.longest_seconds)};
      }
      pause_for(kWindowPoll);
    }
  }

  std::optional<Failure> warm_up() {
    const Window& window = plan_.window;
    if (auto failure = wait([&](std::size_t i) { return files_[i]->steps() > before_[i]; },
                            window.longest_seconds)) {
      return failure;
    }
    const Stopwatch together;  // each member has ended a step, so all run
    return wait(
        [&](std::size_t i) {
          return together.seconds() >= window.warm_seconds &&
                 files_[i]->steps() >= before_[i] + window.warm_steps + 1;
        },
        window.longest_seconds);
  }

  Result<void> open_window() {
    if (auto begun = telemetry_.begin_activity(plan_.gpu); !begun) {
      return begun;
    }
    auto energy = telemetry_.energy(plan_.gpu);
    if (!energy) {
      return tl::unexpected(energy.error());
    }
    opening_energy_ = *energy;
    for (const auto& file : files_) {
      first_.push_back(file->steps() - 1);  // ended before the window opens
    }
    from_ = monotonic_ns();
    return {};
  }

  std::optional<Failure> wait_for_window() {
    const Stopwatch open;
    return wait(
        [&](std::size_t i) {
          return open.seconds() >= plan_.window.seconds &&
                 files_[i]->steps() > first_[i] + plan_.window.least_steps;
        },
        plan_.window.longest_seconds);
  }

  Result<void> close_window() {
    to_ = monotonic_ns();
    auto activity = telemetry_.activity(plan_.gpu);
    auto sample = telemetry_.sample(plan_.gpu);
    auto energy = telemetry_.energy(plan_.gpu);
    auto processes = telemetry_.processes(plan_.gpu);
    if (!activity || !sample || !energy || !processes) {
      return tl::unexpected(!activity ? activity.error()
                            : !sample ? sample.error()
                            : !energy ? energy.error()
                                      : processes.error());
    }
    out_.at = utc_timestamp();
    out_.seconds = static_cast<double>(to_ - from_) * kNanoseconds;
    out_.activity = activity->value_or(GpuActivity{});
    out_.gpu_utilisation = sample->gpu_utilisation;
    out_.memory_utilisation = sample->memory_utilisation;
    out_.sm_clock_mhz = sample->sm_clock_mhz;
    out_.throttle_reasons = sample->throttle_reasons;
    out_.power_watts = sample->power_watts;
    if (*energy && opening_energy_ && (*energy)->at_ns > opening_energy_->at_ns) {
      out_.energy_joules = (*energy)->joules - opening_energy_->joules;
      out_.power_watts =
          *out_.energy_joules /
          (static_cast<double>((*energy)->at_ns - opening_energy_->at_ns) * kNanoseconds);
    }
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const pid_t pid = pool_.pid_of(cell_.members[i]);
      const auto found = std::ranges::find(*processes, pid, &GpuProcess::pid);
      out_.members[i].memory_bytes = found != processes->end() ? found->memory_bytes : std::nullopt;
      closing_.push_back(files_[i]->steps());
    }
    return {};
  }

  // A step that crosses the end of the window must end under the same conditions: no member is held
  // before each has ended one more step.
  std::optional<Failure> wait_for_last_steps() {
    return wait([&](std::size_t i) { return files_[i]->steps() > closing_[i]; },
                plan_.window.longest_seconds);
  }

  std::optional<Failure> hold() {
    holding_ = true;
    for (const auto& file : files_) {
      file->give(profile::StepOrder::Hold);
    }
    auto failure = wait(
        [&](std::size_t i) {
          return !pool_.present(cell_.members[i]) || files_[i]->state() == profile::StepState::Held;
        },
        plan_.window.longest_seconds);
    if (failure) {
      pool_.drop(cell_.members);
    }
    return failure;
  }

  std::optional<Failure> compute() {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const auto ends = files_[i]->ends(first_[i], files_[i]->steps() - 1);
      const auto steps = ends ? profile::steps_within(*ends, from_, to_) : std::nullopt;
      const double units = files_[i]->units_per_step();
      const double throughput = steps ? steps->steps_per_second * units : 0.0;
      if (!std::isfinite(throughput) || throughput <= 0.0) {
        return Failure{
            .reason = "crash",
            .message = fmt::format("{}: its step times do not cover the window, or it made more "
                                   "steps than a step file holds",
                                   out_.members[i].workload)};
      }
      out_.members[i].steps = *steps;
      out_.members[i].throughput = throughput;
    }
    return std::nullopt;
  }

  Result<Measurement> finish(std::optional<Failure> failure) {
    if (failure && out_.at.empty()) {
      out_.at = utc_timestamp();
    }
    out_.failure = std::move(failure);
    return std::move(out_);
  }

  const Cell& cell_;
  const Plan& plan_;
  WorkerPool& pool_;
  TelemetrySource& telemetry_;
  const std::function<bool()>& stop_;
  bool holding_ = false;  // runs to its end even after a stop request
  Measurement out_;
  std::vector<std::shared_ptr<profile::StepFile>> files_;
  std::vector<std::uint64_t> before_;   // steps when released
  std::vector<std::uint64_t> first_;    // number of the last step before the window
  std::vector<std::uint64_t> closing_;  // steps when the window closed
  std::optional<GpuEnergy> opening_energy_;
  std::int64_t from_ = 0;
  std::int64_t to_ = 0;
};

}  // namespace

Result<Measurement> run_cell(const Cell& cell,
                             const Plan& plan,
                             WorkerPool& pool,
                             TelemetrySource& telemetry,
                             const std::function<bool()>& stop) {
  return CellRun(cell, plan, pool, telemetry, stop).run();
}

}  // namespace carpool::measure
