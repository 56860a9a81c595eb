// The launches of one client, in order: a ring in shared memory that a reader can follow. The
// oldest records are overwritten; the reader counts what it missed.
#pragma once

#include <cstdint>
#include <span>

#include "interpose/state/layout.hpp"

namespace carpool::interpose {

struct LaunchRecord {
  std::uint64_t key = 0;
  std::uint64_t time_ns = 0;
  std::uint32_t duration_ns = 0;  // 0: not measured
  std::uint32_t stream = 0;
};

// From any thread of the client.
inline void log_launch(SharedWord& head, KernelLogRing& ring, const LaunchRecord& record) {
  const std::uint64_t number = head.fetch_add(1, std::memory_order_relaxed);
  LogRecord& to = ring.records[number % kLogRecords];
  // Each store after the first is seen only by readers that see the first.
  to.sequence.store(0, std::memory_order_relaxed);
  to.key.store(record.key, std::memory_order_release);
  to.time_ns.store(record.time_ns, std::memory_order_release);
  to.duration_and_stream.store(std::uint64_t{record.duration_ns} << 32U | record.stream,
                               std::memory_order_release);
  to.sequence.store(number + 1, std::memory_order_release);
}

// Follows one ring. Not for two threads at once.
class LogFollower {
 public:
  // Copies the records that follow the last ones read; the number of them.
  std::size_t read(const SharedWord& head, const KernelLogRing& ring, std::span<LaunchRecord> out);
  [[nodiscard]] std::uint64_t missed() const { return missed_; }

 private:
  std::uint64_t next_ = 0;
  std::uint64_t missed_ = 0;
};

}  // namespace carpool::interpose
