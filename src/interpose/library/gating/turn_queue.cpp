#include "interpose/library/gating/turn_queue.hpp"

#include "interpose/gate/policies/policies.hpp"
#include "interpose/library/real_driver.hpp"
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
  const bool ahead = seen.fresh && !in_space && work.expected_ns <= seen.longest;
  sliced_ = seen.sliced;
  keeper_.use(ahead);
  return ahead;
}

void TurnQueue::stream_waits(Handle event, const StreamPlace& place, bool queued, Nanoseconds now) {
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
  if (sliced_ && now < streams_wait_until_) {
    events_.recorded(event, place);
  }
}

bool TurnQueue::is_full(const WorkInFlight& queued, const gate::Work& work) {
  return queued.commands() >= kMostAhead ||
         (queued.commands() > 0 && queued.bound() + work.bound_ns > kFarthestAhead);
}

bool TurnQueue::pass(const StreamPlace& place, const gate::Work& work) {
  const StreamKey stream = stream_key(place.stream, place.twin);
  const bool needed = sections_.needs_gate(stream, work.bound_ns, section_);
  if (needed && !gate_.put(place)) {
    return false;
  }
  sections_.add(stream, work.bound_ns, needed);
  return true;
}

}  // namespace carpool::interpose
