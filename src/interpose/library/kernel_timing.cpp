#include "interpose/library/kernel_timing.hpp"

#include <array>
#include <atomic>

#include "interpose/gate/shared_view.hpp"
#include "interpose/library/clock.hpp"
#include "interpose/library/kernel_names.hpp"
#include "interpose/library/spin_lock.hpp"
#include "interpose/library/symbols.hpp"

namespace carpool::interpose {

namespace {

constexpr std::uint32_t kOneIn = 16;             // launches of a thread
constexpr std::uint64_t kBetweenNs = 5'000'000;  // of the process: 200 a second
constexpr std::size_t kPairs = 64;               // in flight at most
constexpr std::size_t kReadAtOnce = 8;           // so that a launch takes a bounded time
constexpr std::uint32_t kAllSms = 1000;          // permille
constexpr std::uint64_t kLongestNs = 100'000'000'000;

enum class PairState : std::uint8_t { Empty, Free, Begun, InFlight };

struct EventPair {
  PairState state = PairState::Empty;
  Handle before = nullptr;
  Handle after = nullptr;
  Handle context = nullptr;
  Device* owner = nullptr;
  int device = 0;
  std::uint64_t key = 0;
  std::uint64_t place_key = 0;
  std::uint32_t sms_permille = 1000;
  std::uint64_t began_ns = 0;
};

constinit SpinLock timing_lock;                                   // NOLINT
constinit std::array<EventPair, kPairs> pairs{};                  // NOLINT: with the lock held
constinit std::size_t next_read = 0;                              // NOLINT: with the lock held
constinit std::atomic<std::uint64_t> next_sample_ns{0};           // NOLINT
constinit thread_local std::uint32_t launches_to_skip = kOneIn;   // NOLINT
constinit thread_local std::uint32_t random_state = 0x9e3779b9U;  // NOLINT

// So that a program whose launches repeat does not always show the same of them.
std::uint32_t random_below(std::uint32_t limit) {
  random_state ^= random_state << 13U;
  random_state ^= random_state >> 17U;
  random_state ^= random_state << 5U;
  return random_state % limit;
}

Status query(Handle event) {
  return call_real<Status(Handle)>(Symbol::cuEventQuery, event);
}

void destroy_events(EventPair& pair) {
  for (const Handle event : {pair.before, pair.after}) {
    if (event != nullptr && !capture_alive()) {
      call_real<Status(Handle)>(Symbol::cuEventDestroy_v2, event);
    }
  }
  pair = {};
}

void learn(const EventPair& pair) {
  float milliseconds = 0;
  using Elapsed = Status(float*, Handle, Handle);
  SharedState* const state = pair.owner->client.shared();
  if (state == nullptr ||
      call_real<Elapsed>(Symbol::cuEventElapsedTime, &milliseconds, pair.before, pair.after) !=
          kSuccess) {
    return;
  }
  const double ns = static_cast<double>(milliseconds) * 1e3 * pair.sms_permille;
  if (ns < 1 || ns >= static_cast<double>(kLongestNs)) {
    return;
  }
  // Beside a request a kernel takes longer than the gate has to expect of it.
  const bool slowed = gate::slo_client_worked(
      *state, pair.owner->client.id().slot, static_cast<gate::Nanoseconds>(pair.began_ns));
  KernelTable kernels(state->kernels);
  const KernelEstimate known = kernels.find(pair.key);
  if (pair.sms_permille < kAllSms) {
    // On all SMs it takes this time or longer. A kernel that was once believed to be too long for
    // all of them is never measured there, so what is too high is corrected here.
    for (const std::uint64_t key : {pair.key, pair.place_key}) {
      if (!slowed && kernels.find(key).mean_ns > static_cast<float>(ns)) {
        kernels.learn(key, static_cast<std::uint64_t>(ns));
      }
    }
    return;
  }
  if (slowed) {
    if (known.count == 0) {
      kernels.learn_least(kernel_key_slowed(pair.key), static_cast<std::uint64_t>(ns));
    }
    return;
  }
  kernels.learn(pair.key, static_cast<std::uint64_t>(ns));
  pair.owner->gate.best_effort.learn(static_cast<gate::Nanoseconds>(ns));
  if (varies(known)) {
    kernels.learn(pair.place_key, static_cast<std::uint64_t>(ns));
  }
}

void read_measured() {
  std::size_t asked = 0;
  for (std::size_t step = 0; step < kPairs && asked < kReadAtOnce; ++step) {
    EventPair& pair = pairs[next_read];
    next_read = (next_read + 1) % kPairs;
    if (pair.state != PairState::InFlight) {
      continue;
    }
    ++asked;
    const Status status = query(pair.after);
    if (status == kSuccess) {
      learn(pair);
      pair.state = PairState::Free;
    } else if (status != kNotReady) {
      destroy_events(pair);  // the context is broken
    }
  }
}

bool make_events(EventPair& pair, Handle context, int device) {
  using Create = Status(Handle*, unsigned);
  if (call_real<Create>(Symbol::cuEventCreate, &pair.before, 0U) != kSuccess ||
      call_real<Create>(Symbol::cuEventCreate, &pair.after, 0U) != kSuccess) {
    destroy_events(pair);
    return false;
  }
  pair.state = PairState::Free;
  pair.context = context;
  pair.device = device;
  return true;
}

// Events belong to a context; null if there is no pair for this one.
EventPair* free_pair(int device) {
  const Handle context = thread_context();
  if (context == nullptr) {
    return nullptr;
  }
  EventPair* empty = nullptr;
  for (EventPair& pair : pairs) {
    if (pair.state == PairState::Free && pair.context == context) {
      return &pair;
    }
    if (pair.state == PairState::Empty && empty == nullptr) {
      empty = &pair;
    }
  }
  return empty != nullptr && make_events(*empty, context, device) ? empty : nullptr;
}

Status record(Handle event, const TimedLaunch& launch) {
  return call_real<Status(Handle, Handle)>(
      launch.twin == Twin::Legacy ? Symbol::cuEventRecord : Symbol::cuEventRecord_ptsz,
      event,
      launch.stream);
}

// The rate of the process; false if another thread was faster.
bool take_turn(std::uint64_t now_ns) {
  std::uint64_t next = next_sample_ns.load(std::memory_order_relaxed);
  return now_ns >= next && next_sample_ns.compare_exchange_strong(next, now_ns + kBetweenNs);
}

// 0 for the first launch of a kernel.
std::uint64_t key_to_measure(const TimedLaunch& launch) {
  if (launch.key != 0) {
    return launch.key;
  }
  const bool first_launch = !kernel_name_known(launch.function);
  const std::uint64_t name = kernel_name_hash(launch.function);
  return first_launch || name == 0 ? 0 : kernel_key(name, launch.shape);
}

}  // namespace

TimingPair timing_begins(Device& device,
                         const TimedLaunch& launch,
                         std::uint64_t coarse_ns,
                         Sampling sampling) {
  const bool sparse = sampling == Sampling::Sparse;
  if (sparse && launches_to_skip > 0) {
    --launches_to_skip;
    return kNotTimed;
  }
  if (capture_alive() || (sparse && coarse_ns < next_sample_ns.load(std::memory_order_relaxed))) {
    return kNotTimed;
  }
  const std::uint64_t key = key_to_measure(launch);
  if (key == 0) {
    return kNotTimed;
  }
  const SpinLock::Attempt attempt(timing_lock);
  if (!attempt.held() || capture_alive() || (sparse && !take_turn(coarse_ns))) {
    return kNotTimed;
  }
  launches_to_skip = kOneIn - 1 + random_below(kOneIn);
  read_measured();
  EventPair* const pair = free_pair(device.ordinal);
  if (pair == nullptr) {
    return kNotTimed;
  }
  if (record(pair->before, launch) != kSuccess) {
    destroy_events(*pair);
    return kNotTimed;
  }
  pair->state = PairState::Begun;
  pair->owner = &device;
  pair->key = key;
  pair->place_key = launch.place_key;
  pair->sms_permille = launch.sms_permille;
  pair->began_ns = exact_now_ns();
  return static_cast<TimingPair>(pair - pairs.data()) + 1;
}

void timing_ends(TimingPair number, const TimedLaunch& launch, Status status) {
  const SpinLock::Holder held(timing_lock);
  EventPair& pair = pairs[number - 1];
  if (pair.state != PairState::Begun) {
    return;  // its context ended meanwhile
  }
  // A capture may have begun in this very stream: the event would become a part of its graph.
  const bool measured =
      status == kSuccess && !capture_alive() && record(pair.after, launch) == kSuccess;
  pair.state = measured ? PairState::InFlight : PairState::Free;
}

void forget_timing(Handle context, int device) {
  const SpinLock::Holder held(timing_lock);
  for (EventPair& pair : pairs) {
    if (pair.state != PairState::Empty &&
        (context != nullptr ? pair.context == context : pair.device == device)) {
      destroy_events(pair);
    }
  }
}

void wait_for_timing() {
  const SpinLock::Holder held(timing_lock);
}

}  // namespace carpool::interpose
