// Job events for those who watch. The last ones are kept, so that whoever was away for a moment
// misses nothing.
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

#include "core/job_event.hpp"
#include "serve/caller.hpp"

namespace carpool::serve {

struct PublishedEvent {
  std::int64_t sequence = 0;
  std::uint32_t uid = 0;  // of its owner
  std::string kind{};     // "submitted", "started", …
  std::string data{};     // JSON, one line, without anything that others may not see
};

// Thread-safe.
class EventHub {
 public:
  static constexpr std::size_t kKept = 4096;
  static constexpr unsigned kMostWatchers = 16;  // of one user

  void publish(const JobEvent& event, const JobOwner& owner);

  // A seat for one watcher; false: this user has all of theirs.
  [[nodiscard]] bool enter(std::uint32_t uid);
  void leave(std::uint32_t uid);

  // Those after `sequence` that the caller may see, waiting up to `limit` for the first. Also when
  // nothing came; empty optional: the hub is closed.
  [[nodiscard]] std::optional<std::vector<PublishedEvent>> after(std::int64_t& sequence,
                                                                 const Caller& caller,
                                                                 std::chrono::milliseconds limit);
  [[nodiscard]] std::int64_t last() const;

  // Everybody who waits is sent away.
  void close();

 private:
  mutable std::mutex mutex_;
  std::condition_variable news_;
  std::deque<PublishedEvent> events_;
  std::map<std::uint32_t, unsigned> watchers_;
  bool closed_ = false;
};

}  // namespace carpool::serve
