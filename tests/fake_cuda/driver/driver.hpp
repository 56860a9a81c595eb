// The driver's state in this process: objects, queues of streams, and the thread that works on
// them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_set>
#include <vector>

#include "../abi/functions.hpp"
#include "../device/shared_device.hpp"
#include "../settings.hpp"
#include "stream.hpp"
#include "task.hpp"

namespace fake_cuda {

using Guard = std::unique_lock<std::mutex>;

// The order of streams is the same in every run.
struct ById {
  bool operator()(const Stream* left, const Stream* right) const { return left->id < right->id; }
};

// Which default stream handle 0 means.
enum class Default { Legacy, PerThread };

// The contexts that are current in this thread, the innermost last.
std::vector<Context*>& context_stack();
[[nodiscard]] Context* current_context();
[[nodiscard]] int thread_number();

class Driver {
 public:
  // Made at the first call, never destroyed: other libraries may call when the process exits.
  static Driver& get();
  // Whether get() has been called; false after a fork, in the child.
  static bool exists();

  [[nodiscard]] Guard lock() { return Guard(mutex_); }
  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] SharedDevice& device() { return device_; }
  [[nodiscard]] Counts& counts() { return device_.counts(); }
  [[nodiscard]] int gpus() const { return gpus_; }

  Result initialize();
  [[nodiscard]] bool initialized() const { return initialized_.load(); }

  Context* make_context(int device, unsigned flags);
  // One that has a part of the device.
  GreenContext* make_green_context(int device, std::uint32_t sms);
  void destroy_context(Context& context);
  Context& primary(int device) { return *primaries_.at(static_cast<std::size_t>(device)); }
  [[nodiscard]] bool knows(const Context* context) const;
  [[nodiscard]] bool knows(const GreenContext* green) const;
  // Whether the driver has green contexts at all.
  [[nodiscard]] bool green_contexts() const { return green_contexts_; }

  Stream* make_stream(Context& context, unsigned flags, int priority);
  Result destroy_stream(Stream* stream);
  [[nodiscard]] bool knows(const Stream* stream) const { return streams_.contains(stream); }
  // The stream of a handle; null if there is none.
  Stream* find_stream(Stream* handle, Default meaning);
  // The code of a call whose handle has no stream.
  [[nodiscard]] Result why_no_stream(Stream* handle) const;
  Event* make_event(Context& context, unsigned flags);
  Result destroy_event(Event* event);
  [[nodiscard]] bool knows(const Event* event) const { return events_.contains(event); }

  // Appends to the stream and starts what can start.
  void enqueue(Guard& guard, Stream& stream, Operation operation);
  // Whether no stream has anything to do.
  [[nodiscard]] bool idle() const { return busy_.empty(); }
  // Works until the point is reached.
  void wait_for(Guard& guard, const Point& point);
  void wait_for(Guard& guard, const std::vector<Point>& points);
  // Every stream of the context and of those that it covers, as it is now.
  [[nodiscard]] std::vector<Point> ends_of(const Context& context) const;
  // Virtual clock: lets this much time pass.
  void pass_time(std::int64_t ns);
  // Looks whether something has finished.
  void poll(Guard& guard);

  [[nodiscard]] std::int64_t copy_ns(std::uint64_t bytes) const;

 private:
  Driver();
  void start_thread();
  void thread_main();
  void wake_thread();
  // Moves every stream on as far as it goes. True if something changed.
  bool pump();
  bool pump_stream(Stream& stream);
  bool start(Stream& stream, Operation& operation);
  void complete(Stream& stream, std::int64_t when);
  bool run_host_function(Guard& guard);
  [[nodiscard]] bool waits_for_value() const;

  std::mutex mutex_;
  std::condition_variable changed_;
  Settings settings_;
  SharedDevice device_;
  int gpus_ = 1;
  std::int64_t copy_bytes_per_us_ = 0;
  std::atomic<bool> initialized_ = false;
  bool one_connection_ = false;  // all streams of a priority are one queue
  bool has_thread_ = false;
  bool green_contexts_ = true;
  std::uint64_t ids_ = 0;
  std::vector<std::unique_ptr<Context>> contexts_;
  std::vector<Context*> primaries_;
  std::unordered_set<const Stream*> streams_;
  std::unordered_set<const Event*> events_;
  std::set<Stream*, ById> busy_;
};

// What every function does first: counts the call, and gives the code that the settings order, or
// the one of a driver that was not initialised or belongs to the parent of a forked process.
Result enter(Entry entry);
// Whether it is a function of abi/green.inc.
[[nodiscard]] bool of_green_contexts(Entry entry);
// How often a function was called in this process; for tests.
[[nodiscard]] std::uint64_t calls_of(Entry entry);

}  // namespace fake_cuda
