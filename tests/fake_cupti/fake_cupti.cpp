// A fake libcupti.so.13: delivers the activity records of a fake program through the real interface
// (buffers by callbacks, records only of enabled kinds).
#include "fake_cupti.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <poll.h>
#include <set>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "gpu/cupti/abi.hpp"

namespace carpool::gpu::cupti {
namespace {

// More than a year, so that confusing the two clocks shows.
constexpr std::uint64_t kOwnClock = 40'000'000'000'000'000;

struct State {
  std::mutex mutex;
  BufferRequested requested = nullptr;
  BufferCompleted completed = nullptr;
  Timestamp clock = nullptr;
  std::set<Kind> enabled;
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0;
  std::size_t used = 0;
  std::size_t dropped = 0;
  Callback callback = nullptr;  // of the subscriber; null: none
  std::set<std::uint32_t> calls;
  int subscriptions = 0;
};

State& state() {
  static auto* const made = new State;
  return *made;
}

int setting(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::atoi(value) : otherwise;
}

std::size_t record_size(Kind kind) {
  switch (kind) {
    case kKindConcurrentKernel:
      return sizeof(KernelRecord);
    case kKindMemcpy:
      return sizeof(MemcpyRecord);
    case kKindMemset:
      return sizeof(MemsetRecord);
    default:
      return 0;
  }
}

// A line for each call that changes the state of CUPTI.
void note(const std::string& line) {
  if (const char* path = std::getenv("FAKE_CUPTI_LOG"); path != nullptr) {
    std::ofstream(path, std::ios::app) << line << '\n';
  }
}

// The site of the call in whose callback this thread is.
const char*& current_site() {
  static thread_local const char* site = "outside";
  return site;
}

// With FAKE_CUPTI_EXIT_MS the cleanup of a thread that subscribed takes that long, as does that of
// the library at the exit of the process; the one during the other ends the process.
std::atomic<bool>& torn_down() {
  static std::atomic<bool> down{false};
  return down;
}

void take_exit_time() {
  (void)::poll(nullptr, 0, setting("FAKE_CUPTI_EXIT_MS", 0));
}

struct ThreadData {
  ThreadData() = default;
  ThreadData(const ThreadData&) = delete;
  ThreadData& operator=(const ThreadData&) = delete;
  ~ThreadData() {
    take_exit_time();
    if (torn_down()) {
      std::abort();
    }
  }
};

[[gnu::destructor]] void tear_down() {
  torn_down() = true;
  take_exit_time();
}

void give_back(State& now) {
  if (now.buffer != nullptr) {
    now.completed(nullptr, 0, std::exchange(now.buffer, nullptr), now.size, now.used);
    now.used = 0;
  }
}

bool still_subscribed(Callback callback) {
  const std::lock_guard lock(state().mutex);
  return state().callback == callback;
}

// CUPTI's own clock, unless the library has set another.
void move_to_own_clock(std::uint8_t* record) {
  constexpr std::size_t kStart = offsetof(KernelRecord, start);
  static_assert(kStart == offsetof(MemcpyRecord, start) && kStart == offsetof(MemsetRecord, start));
  std::array<std::uint64_t, 2> times{};
  std::memcpy(times.data(), record + kStart, sizeof(times));
  times = {times[0] + kOwnClock, times[1] + kOwnClock};
  std::memcpy(record + kStart, times.data(), sizeof(times));
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the vendor's names
extern "C" {

void fake_cupti_deliver(const void* record, std::size_t size) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  Kind kind = 0;
  std::memcpy(&kind, record, sizeof(kind));
  if (!now.enabled.contains(kind)) {
    return;
  }
  if (now.buffer != nullptr && now.size - now.used < size) {
    give_back(now);
  }
  if (now.buffer == nullptr && now.requested != nullptr) {
    std::size_t most = 0;
    now.requested(&now.buffer, &now.size, &most);
  }
  if (now.buffer == nullptr) {
    ++now.dropped;
    return;
  }
  std::memcpy(now.buffer + now.used, record, size);
  if (now.clock == nullptr) {
    move_to_own_clock(now.buffer + now.used);
  }
  now.used += size;
}

void fake_cupti_call_launch(std::uint32_t call) {
  State& now = state();
  Callback callback = nullptr;
  {
    const std::lock_guard lock(now.mutex);
    callback = now.calls.contains(call) ? now.callback : nullptr;
  }
  for (const std::uint32_t site : {kCallEntered, kCallEntered + 1}) {
    const CallbackData data{.site = site};
    if (callback != nullptr && still_subscribed(callback)) {
      current_site() = site == kCallEntered ? "entry" : "exit";
      callback(nullptr, kDriverApi, call, &data);
      current_site() = "outside";
    }
  }
}

Code cuptiGetVersion(std::uint32_t* version) {
  *version = static_cast<std::uint32_t>(setting("FAKE_CUPTI_VERSION", 130000));
  return kSuccess;
}

Code cuptiGetResultString(Code code, const char** text) {
  *text = code == kMultipleSubscribers ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
                                       : "CUPTI_ERROR_OF_THE_FAKE";
  return kSuccess;
}

Code cuptiSubscribe(Subscriber* subscriber, Callback callback, void* /*user*/) {
  if (subscriber == nullptr || callback == nullptr) {
    return kInvalidParameter;
  }
  pause_for(std::chrono::milliseconds(setting("FAKE_CUPTI_SUBSCRIBE_MS", 0)));
  if (torn_down()) {
    std::abort();
  }
  const std::lock_guard lock(state().mutex);
  if (setting("FAKE_CUPTI_SUBSCRIBED", 0) != 0 || state().callback != nullptr) {
    return kMultipleSubscribers;
  }
  note("subscribe");
  static thread_local ThreadData kept;
  (void)kept;
  state().callback = callback;
  ++state().subscriptions;
  *subscriber = reinterpret_cast<Subscriber>(&state());
  return kSuccess;
}

Code cuptiUnsubscribe(Subscriber subscriber) {
  const std::lock_guard lock(state().mutex);
  if (subscriber != reinterpret_cast<Subscriber>(&state()) || state().callback == nullptr) {
    return kInvalidParameter;
  }
  note("unsubscribe");
  state().callback = nullptr;
  state().calls.clear();
  return kSuccess;
}

Code cuptiFinalize() {
  const std::lock_guard lock(state().mutex);
  note(std::string("finalize at ") + current_site());
  State& now = state();
  now.callback = nullptr;
  now.calls.clear();
  now.enabled.clear();
  now.requested = nullptr;
  now.completed = nullptr;
  now.buffer = nullptr;
  now.used = 0;
  return kSuccess;
}

Code cuptiEnableCallback(std::uint32_t on,
                         Subscriber subscriber,
                         std::uint32_t domain,
                         std::uint32_t call) {
  const std::lock_guard lock(state().mutex);
  if (subscriber != reinterpret_cast<Subscriber>(&state()) || domain != kDriverApi) {
    return kInvalidParameter;
  }
  if (on != 0 && state().subscriptions > setting("FAKE_CUPTI_DEAF", 0)) {
    state().calls.insert(call);
  } else {
    state().calls.erase(call);
  }
  return kSuccess;
}

Code cuptiActivityRegisterCallbacks(BufferRequested requested, BufferCompleted completed) {
  const std::lock_guard lock(state().mutex);
  note("register callbacks");
  state().requested = requested;
  state().completed = completed;
  return kSuccess;
}

Code cuptiActivityEnable(Kind kind) {
  const int refusal = setting("FAKE_CUPTI_REFUSE", kSuccess);
  if (refusal == kSuccess) {
    const std::lock_guard lock(state().mutex);
    note("enable " + std::to_string(kind));
    state().enabled.insert(kind);
  }
  return refusal;
}

Code cuptiActivityDisable(Kind kind) {
  const std::lock_guard lock(state().mutex);
  note("disable " + std::to_string(kind));
  state().enabled.erase(kind);
  return kSuccess;
}

Code cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, void** record) {
  auto* const before = static_cast<std::uint8_t*>(*record);
  std::uint8_t* next = buffer;
  if (before != nullptr) {
    Kind kind = 0;
    std::memcpy(&kind, before, sizeof(kind));
    next = before + record_size(kind);
  }
  if (next >= buffer + valid) {
    return kMaxLimitReached;
  }
  *record = next;
  return kSuccess;
}

Code cuptiActivityGetNumDroppedRecords(void*, std::uint32_t, std::size_t* dropped) {
  const std::lock_guard lock(state().mutex);
  *dropped = std::exchange(state().dropped, 0);
  return kSuccess;
}

#ifndef FAKE_CUPTI_BROKEN
Code cuptiActivityFlushAll(std::uint32_t) {
  const std::lock_guard lock(state().mutex);
  give_back(state());
  return kSuccess;
}
#endif

Code cuptiActivitySetAttribute(std::uint32_t, std::size_t* size, void* value) {
  note("attribute");
  return size != nullptr && value != nullptr ? kSuccess : kInvalidParameter;
}

#ifndef FAKE_CUPTI_OLD
Code cuptiActivityRegisterTimestampCallback(Timestamp clock) {
  note("clock");
  state().clock = clock;
  return kSuccess;
}
#endif

Code cuptiGetTimestamp(std::uint64_t* at) {
  *at = static_cast<std::uint64_t>(monotonic_ns()) + kOwnClock;
  return kSuccess;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
}  // namespace carpool::gpu::cupti
