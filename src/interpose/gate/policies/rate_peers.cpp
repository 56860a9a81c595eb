// Policies of other systems that limit rates or take turns by iterations: TGS, HAMi-core, Salus.
// docs/gate-internals.md names what each was taken from.
#include <algorithm>

#include "interpose/gate/policies/policies.hpp"

namespace carpool::interpose::gate {
namespace {

// TGS
constexpr Nanoseconds kTgsWindow = 5 * kSecond;
constexpr Nanoseconds kTgsSlot = 50 * kMillisecond;
constexpr std::uint64_t kTgsLeastStep = 1000;
constexpr std::uint32_t kTgsBadWindows = 20;

// HAMi-core
constexpr Nanoseconds kHamiRefill = 120 * kMillisecond;
constexpr std::int64_t kThreadsOfSm = 2048;
constexpr std::int64_t kHamiFactor = 32;

// One step of the rate control: by how much the SLO clients' rate is below the largest seen.
void control_rate(RateMemory& rate) {
  rate.most_slo_blocks = std::max(rate.most_slo_blocks, rate.slo_blocks);
  const std::uint64_t most = rate.most_slo_blocks;
  const std::uint64_t missing_permille = most == 0 ? 0 : (most - rate.slo_blocks) * 1000 / most;
  rate.bad_windows = missing_permille >= 120 ? rate.bad_windows + 1 : 0;
  if (rate.bad_windows >= kTgsBadWindows) {
    rate.most_slo_blocks = rate.most_slo_blocks * 8 / 10;
    rate.bad_windows = 0;
  }
  if (missing_permille >= 90) {
    rate.slow_start = true;
    rate.limit_blocks /= 10;
  } else if (missing_permille > 30) {
    rate.limit_blocks = rate.slow_start ? rate.limit_blocks * 2 / 3 : rate.limit_blocks * 92 / 100;
    rate.slow_start = false;
  } else if (rate.slow_start) {
    rate.limit_blocks += rate.limit_blocks / 2;
  } else {
    rate.limit_blocks += std::max(rate.limit_blocks / 4000, kTgsLeastStep);
  }
  rate.limit_blocks = std::max<std::uint64_t>(1, rate.limit_blocks);
  rate.slo_blocks = 0;
}

[[nodiscard]] std::int64_t all_tokens(const DeviceFacts& device) {
  return std::int64_t{device.sms} * kThreadsOfSm * kHamiFactor;
}

void refill(TokenMemory& token, const DeviceFacts& device, Nanoseconds now) {
  const Nanoseconds elapsed = std::max<Nanoseconds>(1, now - token.refilled);
  for (std::uint32_t client = 0; client < kMostClients; ++client) {
    const Nanoseconds used_permille = token.busy_ns[client] * 1000 / elapsed;
    const std::int64_t missing =
        std::int64_t{token.limit_permille[client]} - std::min<Nanoseconds>(1000, used_permille);
    const std::int64_t all = all_tokens(device);
    token.tokens[client] = std::clamp(token.tokens[client] + all / 1000 * missing, -all, all);
    token.busy_ns[client] = 0;
  }
  token.refilled = now;
}

}  // namespace

void observe_tgs(PolicyMemory& memory, const DeviceFacts& /*device*/, const Event& event) {
  RateMemory& rate = memory.rate;
  if (event.now - rate.slot_began >= kTgsSlot) {
    rate.slot_began = event.now;
    rate.used_blocks = 0;
  }
  if (event.now - rate.window_began >= kTgsWindow) {
    if (rate.window_began != 0) {
      control_rate(rate);
    }
    rate.window_began = event.now;
  }
  if (event.kind == EventKind::Submitted) {
    (event.terms.job_class == JobClass::Slo ? rate.slo_blocks : rate.used_blocks) +=
        event.work.blocks;
  }
}

Decision decide_tgs(const GateView& view,
                    const PolicyMemory& memory,
                    const Work& /*work*/,
                    Nanoseconds now) {
  if (view.caller.job_class == JobClass::Slo || !view.slo.present) {
    return admit();
  }
  return memory.rate.used_blocks < memory.rate.limit_blocks
             ? admit()
             : hold(HoldReason::RateLimit, now, memory.rate.slot_began + kTgsSlot);
}

void observe_hami(PolicyMemory& memory, const DeviceFacts& device, const Event& event) {
  TokenMemory& token = memory.token;
  if (event.kind == EventKind::Joined) {
    token.tokens[event.client] = 0;
    token.busy_ns[event.client] = 0;
    token.limit_permille[event.client] = event.terms.limit_permille;
  }
  if (event.now - token.refilled >= kHamiRefill) {
    refill(token, device, event.now);
  }
  if (event.kind == EventKind::Submitted) {
    token.tokens[event.client] -= static_cast<std::int64_t>(event.work.blocks);
  } else if (event.kind == EventKind::Finished) {
    token.busy_ns[event.client] +=
        event.measured_ns > 0 ? event.measured_ns : event.work.expected_ns;
  }
}

Decision decide_hami(const GateView& /*view*/,
                     const PolicyMemory& memory,
                     const Work& work,
                     Nanoseconds now) {
  const std::uint32_t client = work.client;
  const bool limited = memory.token.limit_permille[client] < 1000;
  // A kernel passes if any token is left, whatever its size.
  return !limited || memory.token.tokens[client] >= 0 ? admit() : hold(HoldReason::RateLimit, now);
}

void observe_salus(PolicyMemory& memory, const DeviceFacts& /*device*/, const Event& event) {
  LaneMemory& lane = memory.lane;
  if (lane.taken && event.now >= lane.expires) {
    lane.taken = false;
  }
  const bool own = lane.taken && lane.owner == event.client;
  switch (event.kind) {
    case EventKind::RequestBegan:
    case EventKind::Submitted:
      if (!lane.taken) {
        const bool marked = event.kind == EventKind::RequestBegan;
        lane = {.taken = true,
                .owner = event.client,
                .expires = event.now + (marked ? kLongestIteration : kLaneTurn)};
      }
      break;
    case EventKind::RequestEnded:
    case EventKind::Left:
    case EventKind::Died:
      lane.taken = lane.taken && !own;
      break;
    default:
      break;
  }
}

Decision decide_salus(const GateView& view,
                      const PolicyMemory& memory,
                      const Work& work,
                      Nanoseconds now) {
  const LaneMemory& lane = memory.lane;
  if (lane.taken && now < lane.expires) {
    const bool ends_by_itself = view.slo.phase != RequestPhase::Idle;
    const Nanoseconds free_at =
        ends_by_itself ? std::min(lane.expires, view.slo.idle_at) : lane.expires;
    return lane.owner == work.client ? admit() : hold(HoldReason::IterationOfOther, now, free_at);
  }
  const bool first = view.caller.job_class == JobClass::Slo || view.slo.phase == RequestPhase::Idle;
  return first ? admit() : hold(HoldReason::RequestActive, now, view.slo.idle_at);
}

}  // namespace carpool::interpose::gate
