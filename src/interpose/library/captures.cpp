#include "interpose/library/captures.hpp"

#include <array>

#include "interpose/library/draining/draining.hpp"
#include "interpose/library/gating/best_effort_side.hpp"
#include "interpose/library/kernel_timing.hpp"
#include "interpose/library/spin_lock.hpp"

namespace carpool::interpose {

constinit thread_local char thread_mark = 0;       // NOLINT
constinit std::atomic<std::uint32_t> captures{0};  // NOLINT

namespace {

constexpr Status kWrongThread = 908;  // the capture goes on

// Which capture a stream or an event belongs to: 0 for a free place.
struct Member {
  std::uintptr_t handle = 0;
  std::uint64_t capture = 0;
  bool origin = false;        // the capture ends where it began
  std::uint64_t kernels = 0;  // of the capture; kept at its origin
};

class Members {
 public:
  constexpr Members() = default;

  // 0 if it is part of none.
  [[nodiscard]] std::uint64_t capture_of(std::uintptr_t handle) const {
    for (const Member& member : members_) {
      if (member.capture != 0 && member.handle == handle) {
        return member.capture;
      }
    }
    return 0;
  }

  void add_kernels(std::uint64_t capture, std::uint64_t kernels) {
    for (Member& member : members_) {
      if (member.capture == capture && member.origin) {
        member.kernels += kernels;
      }
    }
  }

  // Null if no capture began there.
  [[nodiscard]] const Member* origin_of_capture(std::uintptr_t handle) const {
    for (const Member& member : members_) {
      if (member.capture != 0 && member.handle == handle && member.origin) {
        return &member;
      }
    }
    return nullptr;
  }

  // Overwrites an old member when all places are taken: what is forgotten counts as not captured.
  void add(const Member& added) {
    remove(added.handle);
    for (Member& member : members_) {
      if (member.capture == 0) {
        member = added;
        return;
      }
    }
    members_[next_++ % members_.size()] = added;
  }

  void remove(std::uintptr_t handle) {
    for (Member& member : members_) {
      if (member.handle == handle) {
        member = {};
      }
    }
  }

  void remove_capture(std::uint64_t capture) {
    for (Member& member : members_) {
      if (member.capture == capture) {
        member = {};
      }
    }
  }

 private:
  std::array<Member, 256> members_{};
  std::size_t next_ = 0;
};

// Taken only while a capture begins or is alive.
constinit SpinLock members_lock;           // NOLINT
constinit Members captured_streams;        // NOLINT
constinit Members captured_events;         // NOLINT
constinit std::uint64_t last_capture = 0;  // NOLINT

// With the lock held. The kernels of the capture that began in the stream; 0 if none did.
std::uint64_t end_of(StreamKey stream) {
  const Member* const origin = captured_streams.origin_of_capture(stream);
  if (origin == nullptr) {
    return 0;
  }
  const std::uint64_t kernels = origin->kernels;
  const std::uint64_t capture = origin->capture;
  captured_streams.remove_capture(capture);
  captured_events.remove_capture(capture);
  captures.fetch_sub(1, std::memory_order_relaxed);
  return kernels;
}

}  // namespace

bool is_captured_slow(StreamKey stream) {
  const SpinLock::Holder held(members_lock);
  return stream != kNoStream && captured_streams.capture_of(stream) != 0;
}

bool add_to_capture_slow(StreamKey stream, std::uint64_t kernels) {
  const SpinLock::Holder held(members_lock);
  const std::uint64_t capture = captured_streams.capture_of(stream);
  if (capture != 0) {
    captured_streams.add_kernels(capture, kernels);
  }
  return capture != 0;
}

void capture_begins() {
  captures.fetch_add(1, std::memory_order_seq_cst);
  // Of this thread and the one that waits for the end of captures, at least one sees the other.
  while (draining.load(std::memory_order_seq_cst)) {
    captures.fetch_sub(1, std::memory_order_seq_cst);
    wait_for_end();
    captures.fetch_add(1, std::memory_order_seq_cst);
  }
  wait_for_timing();
  wait_for_gating();
}

void capture_began(StreamKey stream, Status status) {
  if (status != kSuccess) {
    captures.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  const SpinLock::Holder held(members_lock);
  captured_streams.add({.handle = stream, .capture = ++last_capture, .origin = true});
}

std::uint64_t capture_ended(StreamKey stream, Status status) {
  const SpinLock::Holder held(members_lock);
  return status == kWrongThread ? 0 : end_of(stream);
}

void stream_destroyed(StreamKey stream) {
  if (!capture_alive()) {
    return;
  }
  const SpinLock::Holder held(members_lock);
  static_cast<void>(end_of(stream));
  captured_streams.remove(stream);
}

void event_recorded(Handle event, StreamKey stream) {
  if (!capture_alive()) {
    return;
  }
  const SpinLock::Holder held(members_lock);
  const auto handle = reinterpret_cast<std::uintptr_t>(event);
  const std::uint64_t capture = captured_streams.capture_of(stream);
  if (capture == 0) {
    captured_events.remove(handle);
  } else {
    captured_events.add({.handle = handle, .capture = capture});
  }
}

void event_awaited(Handle event, StreamKey stream) {
  if (!capture_alive()) {
    return;
  }
  const SpinLock::Holder held(members_lock);
  const std::uint64_t capture = captured_events.capture_of(reinterpret_cast<std::uintptr_t>(event));
  if (capture != 0 && captured_streams.capture_of(stream) == 0) {
    captured_streams.add({.handle = stream, .capture = capture});
  }
}

}  // namespace carpool::interpose
