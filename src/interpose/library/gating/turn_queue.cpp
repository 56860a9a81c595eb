#include "interpose/library/gating/turn_queue.hpp"

#include "interpose/gate/policies/policies.hpp"
#include "interpose/library/real_driver.hpp"
#include "interpose/library/settings.hpp"
#include "interpose/library/symbols.hpp"

namespace carpool::interpose {

using gate::Nanoseconds;

namespace {

// More than a usual request takes, so that the host never has to hurry.
constexpr Nanoseconds kFarthestAhead = 10 * gate::kMillisecond;
// Fewer than the driver takes without making the program wait.
constexpr std::uint32_t kMostAhead = 256;
// A program whose streams wait for one another goes on with that.
constexpr Nanoseconds kStreamsWaitFor = 10 * gate::kSecond;

}  // namespace

void TurnQueue::start(const gate::Policy& policy, const gate::DeviceFacts& device) {
  device_ = device;
  one_connection_ = setting("CUDA_DEVICE_MAX_CONNECTIONS") == "1";
  usable_ = policy.decide == &gate::decide_spacetime || policy.decide == &gate::decide_time;
}

bool TurnQueue::takes(Client& client, const gate::Work& work, bool confinable, Nanoseconds now) {
  if (!usable_) {
    return false;
  }
  const GateKeeper::Sight seen = keeper_.look(client, gate_, device_, now);
  section_ = seen.section;
  const bool in_space =
      confinable && seen.room && gate::space_pays(length_.mean(), seen.closed_permille);
  const bool wait_unseen =
      seen.sliced && !in_one_queue(now) && now < legacy_used_until_ && now < blocking_used_until_;
  const bool ahead = seen.fresh && !in_space && !wait_unseen && work.expected_ns <= seen.longest;
  sliced_ = seen.sliced;
  keeper_.use(ahead);
  return ahead;
}

void TurnQueue::stream_waits(Handle event, const StreamPlace& place, bool queued, Nanoseconds now) {
  if (in_one_queue(now)) {
    return;
  }
  if (now < streams_wait_until_) {
    streams_wait_until_ = now + kStreamsWaitFor;
    if (queued && sliced_) {
      events_.wait(event, place);
    }
  } else if (queued && call_real<Status(Handle)>(Symbol::cuEventQuery, event) == kNotReady) {
    streams_wait_until_ = now + kStreamsWaitFor;  // the events that follow have words
  }
}

void TurnQueue::event_recorded(Handle event, const StreamPlace& place, Nanoseconds now) {
  if (sliced_ && now < streams_wait_until_ && !in_one_queue(now)) {
    events_.recorded(event, place);
  }
}

bool TurnQueue::is_full(const WorkInFlight& queued, const gate::Work& work) {
  return queued.commands() >= kMostAhead ||
         (queued.commands() > 0 && queued.bound() + work.bound_ns > kFarthestAhead);
}

// The driver lets the legacy stream and those that are not non-blocking wait for one another, and
// such a wait has no word.
void TurnQueue::see_stream(const StreamPlace& place, Nanoseconds now) {
  const StreamKey stream = stream_key(place.stream, place.twin);
  if (stream == kLegacyStream) {
    legacy_used_until_ = now + kStreamsWaitFor;
    return;
  }
  unsigned flags = 0;  // of the stream of a thread
  const bool made = stream == reinterpret_cast<StreamKey>(place.stream);
  using GetFlags = Status(Handle, unsigned*);
  const bool told =
      !made || call_real<GetFlags>(Symbol::cuStreamGetFlags, place.stream, &flags) == kSuccess;
  if (told && (flags & kNonBlockingStream) == 0) {
    blocking_used_until_ = now + kStreamsWaitFor;
  }
}

// Streams that the driver puts into the same queue have gates together. With one connection these
// are all streams of a priority.
std::uint64_t TurnQueue::queue_of(const StreamPlace& place, Nanoseconds now) {
  const StreamKey stream = stream_key(place.stream, place.twin);
  if (!one_connection_) {
    return stream;
  }
  int priority = 0;  // of the default streams
  const bool made = stream != kLegacyStream && stream == reinterpret_cast<StreamKey>(place.stream);
  using GetPriority = Status(Handle, int*);
  if (made &&
      call_real<GetPriority>(Symbol::cuStreamGetPriority, place.stream, &priority) != kSuccess) {
    return stream;
  }
  constexpr std::int64_t kPriorities = 1024;  // more than there are, in both directions
  const auto queue = static_cast<std::uint64_t>(kPriorities + std::int64_t{priority});
  if (last_queue_ != 0 && queue != last_queue_) {
    several_queues_until_ = now + kStreamsWaitFor;
  }
  last_queue_ = queue;
  return queue;
}

bool TurnQueue::pass(const StreamPlace& place, const gate::Work& work, Nanoseconds now) {
  const gate::TurnSections::Asks asks{.stream = queue_of(place, now),
                                      .bound = work.bound_ns,
                                      .section = section_,
                                      .closing = gate_.closing()};
  const bool needed = sections_.needs_gate(asks);
  if (needed && !gate_.put(place)) {
    return false;
  }
  if (needed && sliced_ && !in_one_queue(now)) {
    see_stream(place, now);
  }
  sections_.add(asks, needed);
  return true;
}

}  // namespace carpool::interpose
