#include "interpose/state/kernel_log.hpp"

namespace carpool::interpose {
namespace {

enum class Found { Record, NotYet, Overwritten };

Found read_record(const LogRecord& from, std::uint64_t number, LaunchRecord& into) {
  const std::uint64_t before = from.sequence.load(std::memory_order_acquire);
  into.key = from.key.load(std::memory_order_acquire);
  into.time_ns = from.time_ns.load(std::memory_order_acquire);
  const std::uint64_t packed = from.duration_and_stream.load(std::memory_order_acquire);
  into.duration_ns = static_cast<std::uint32_t>(packed >> 32U);
  into.stream = static_cast<std::uint32_t>(packed);
  const std::uint64_t after = from.sequence.load(std::memory_order_relaxed);
  if (before == number + 1 && after == before) {
    return Found::Record;
  }
  return after > number + 1 ? Found::Overwritten : Found::NotYet;
}

}  // namespace

std::size_t LogFollower::read(const SharedWord& head,
                              const KernelLogRing& ring,
                              std::span<LaunchRecord> out) {
  const std::uint64_t end = head.load(std::memory_order_acquire);
  if (end < next_) {  // another client has the slot now
    next_ = 0;
  }
  if (end - next_ > kLogRecords) {
    missed_ += end - next_ - kLogRecords;
    next_ = end - kLogRecords;
  }
  std::size_t count = 0;
  while (next_ < end && count < out.size()) {
    const Found found = read_record(ring.records[next_ % kLogRecords], next_, out[count]);
    if (found == Found::NotYet && end - next_ < kLogRecords / 2) {
      break;  // a thread is writing it
    }
    // A record that stays unwritten for half a ring belongs to a thread that will not write it.
    count += found == Found::Record ? 1 : 0;
    missed_ += found == Found::Record ? 0 : 1;
    ++next_;
  }
  return count;
}

}  // namespace carpool::interpose
