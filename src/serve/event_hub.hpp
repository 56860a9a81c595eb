// Job events for watchers. The latest events are kept, so that a watcher that reconnects misses
// none.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/server_clock.hpp"
#include "core/job_event.hpp"
#include "serve/caller.hpp"

namespace carpool::serve {

struct PublishedEvent {
  std::int64_t sequence = 0;
  std::uint32_t uid = 0;  // of the owner of the job
  std::string kind{};     // "submitted", "started", …
  std::string data{};     // JSON, one line, without command and environment
};

// Thread-safe.
class EventHub {
 public:
  static constexpr std::size_t kKept = 4096;
  static constexpr unsigned kMostWatchers = 16;  // per user
  static constexpr std::size_t kMostAtOnce = 256;

  void publish(const JobEvent& event, const JobOwner& owner, const ShownTime& shown = {});

  // Registers a watcher; false: this user already has kMostWatchers.
  [[nodiscard]] bool enter(std::uint32_t uid);
  void leave(std::uint32_t uid);

  // At most kMostAtOnce events after `sequence` that the caller may see; waits up to `limit` for
  // the first, and advances `sequence`. No value: the hub is closed.
  [[nodiscard]] std::optional<std::vector<PublishedEvent>> after(std::int64_t& sequence,
                                                                 const Caller& caller,
                                                                 std::chrono::milliseconds limit);
  [[nodiscard]] std::int64_t last() const;

  // Waits that long; false: the hub is closed.
  [[nodiscard]] bool pause(std::chrono::milliseconds span) const;

  // Ends every wait.
  void close();

 private:
  mutable std::mutex mutex_;
  std::condition_variable news_;
  mutable std::condition_variable ended_;
  std::deque<PublishedEvent> events_;
  std::map<std::uint32_t, unsigned> watchers_;
  bool closed_ = false;
};

}  // namespace carpool::serve
