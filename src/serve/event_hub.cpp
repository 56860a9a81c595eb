#include "serve/event_hub.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "core/json/job_json.hpp"

namespace carpool::serve {

using nlohmann::json;

void EventHub::publish(const JobEvent& event, const JobOwner& owner, const ShownTime& shown) {
  json data = event_object(event);
  data["at_s"] = shown(event.at_s);
  if (const auto* ended = std::get_if<JobEnded>(&event.what)) {
    data["exit"]["at_s"] = shown(ended->exit.at_s);
  }
  data.erase("spec");  // command and environment stay with the owner
  data["user"] = owner.user;
  PublishedEvent published{.sequence = event.sequence,
                           .uid = owner.uid,
                           .kind = data.value("event", ""),
                           .data = data.dump(-1, ' ', false, json::error_handler_t::replace)};
  const std::scoped_lock lock(mutex_);
  events_.push_back(std::move(published));
  if (events_.size() > kKept) {
    events_.pop_front();
  }
  news_.notify_all();
}

bool EventHub::enter(std::uint32_t uid) {
  const std::scoped_lock lock(mutex_);
  unsigned& count = watchers_[uid];
  if (count >= kMostWatchers) {
    return false;
  }
  ++count;
  return true;
}

void EventHub::leave(std::uint32_t uid) {
  const std::scoped_lock lock(mutex_);
  if (--watchers_[uid] == 0) {
    watchers_.erase(uid);
  }
}

std::optional<std::vector<PublishedEvent>> EventHub::after(std::int64_t& sequence,
                                                           const Caller& caller,
                                                           std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  news_.wait_for(lock, limit, [&] {
    return closed_ || (!events_.empty() && events_.back().sequence > sequence);
  });
  if (closed_) {
    return std::nullopt;
  }
  std::vector<PublishedEvent> found;
  const auto first = std::ranges::upper_bound(events_, sequence, {}, &PublishedEvent::sequence);
  for (auto event = first; event != events_.end() && found.size() < kMostAtOnce; ++event) {
    if (caller.operates || event->uid == caller.uid) {
      found.push_back(*event);
    }
    sequence = event->sequence;
  }
  return found;
}

std::int64_t EventHub::last() const {
  const std::scoped_lock lock(mutex_);
  return events_.empty() ? 0 : events_.back().sequence;
}

bool EventHub::pause(std::chrono::milliseconds span) const {
  std::unique_lock lock(mutex_);
  return !ended_.wait_for(lock, span, [&] { return closed_; });
}

void EventHub::close() {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  news_.notify_all();
  ended_.notify_all();
}

}  // namespace carpool::serve
