#include "interpose/tests/gate/sliced_gpu.hpp"

#include <algorithm>
#include <vector>

namespace carpool::interpose::gate {
namespace {

constexpr Nanoseconds kStepOfTime = 10 * kMicrosecond;
constexpr Nanoseconds kTurn = 2 * kMillisecond;
constexpr Nanoseconds kTrainingKernel = kMillisecond;  // of the other program
constexpr Nanoseconds kPause = 20 * kMillisecond;

Nanoseconds long_one(std::vector<Nanoseconds> waits) {
  std::ranges::sort(waits);
  return waits[waits.size() * 85 / 100];
}

}  // namespace

ServedRequest SlicedGpu::serve(LaunchPhase& phase) {
  ServedRequest served;
  const Nanoseconds began = now_;
  phase.request_began(now_);
  for (std::uint32_t part = 0; part < program_.parts; ++part) {
    if (program_.looks_between) {
      serve_part(phase, 2, served);
    }
    serve_part(phase, program_.commands, served);
  }
  served.took = now_ - began;
  phase.request_ended();
  now_ += kPause;
  slice_ends_ = now_ + (served.took * 7 + now_ / 3) % kTurn;  // of the other program
  return served;
}

void SlicedGpu::serve_part(LaunchPhase& phase, std::uint32_t commands, ServedRequest& served) {
  const std::uint32_t open = phase.open_commands();
  std::uint32_t launched = 0;
  Nanoseconds waits_since = 0;
  Nanoseconds next_launch = now_;
  while (launched < commands || backlog_ > 0) {
    if (launched < commands && now_ >= next_launch) {
      ++launched;
      backlog_ += program_.each_kernel;
      next_launch += program_.each_launch;
    }
    if (launched == commands && waits_since == 0 && now_ >= next_launch) {
      waits_since = now_;
      phase.wait_began(launched, now_);
    }
    tick(launched < open && waits_since == 0, served);
  }
  now_ = std::max(now_, next_launch);
  if (waits_since == 0) {
    waits_since = now_;
    phase.wait_began(launched, now_);
  }
  served.waited += now_ - waits_since;
  phase.wait_ended(tail_, now_);
}

// The gate closes at the end of a kernel, the slice at its own.
void SlicedGpu::tick(bool open, ServedRequest& served) {
  now_ += kStepOfTime;
  served.open += open ? kStepOfTime : 0;
  if (open && slice_ends_ <= now_ && (backlog_ == 0 || own_ends_ <= now_)) {
    slice_ends_ = now_ + kTurn;
    own_ends_ = slice_ends_ + kTurn;
  }
  if (!open) {
    slice_ends_ = std::min(slice_ends_, now_ + kTrainingKernel - now_ % kTrainingKernel);
  }
  if (slice_ends_ <= now_) {
    backlog_ = std::max<Nanoseconds>(0, backlog_ - kStepOfTime);
    if (backlog_ == 0) {
      own_ends_ = now_;
    }
  }
}

LaunchPhaseResult serve_many(const LaunchingProgram& program, Nanoseconds slo, Nanoseconds tail) {
  constexpr int kFirst = 20;
  constexpr int kRequests = 1000;
  constexpr int kLast = 400;
  LaunchPhase phase(slo);
  SlicedGpu gpu(program, tail);
  LaunchPhaseResult result;
  std::vector<Nanoseconds> alone;
  std::vector<Nanoseconds> beside;
  double open = 0.0;
  double took = 0.0;
  for (int i = 0; i < kRequests; ++i) {
    const ServedRequest served = gpu.serve(phase);
    if (i < kFirst) {
      alone.push_back(served.waited);
      result.open_first += served.open;
    } else if (i >= kRequests - kLast) {
      beside.push_back(served.waited);
      open += static_cast<double>(served.open);
      took += static_cast<double>(served.took);
    }
  }
  result.alone = long_one(alone);
  result.beside = long_one(beside);
  result.open = open / took;
  return result;
}

}  // namespace carpool::interpose::gate
