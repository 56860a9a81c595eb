// The queues of streams. A task that takes no time runs in the thread that enqueues it, as soon as
// what comes before it has run; kernels and copies that take time go to the device, and the
// driver's own thread waits for them and calls host functions. Under a virtual clock there is no
// such thread: whoever waits does the work, so that the order is always the same.
#include <algorithm>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

#include "base/clock.hpp"
#include "driver.hpp"

namespace fake_cuda {
namespace {

constexpr std::int64_t kLongestWait = 20'000'000;  // then the dead are looked for
constexpr std::int64_t kValuePoll = 100'000;

}  // namespace

bool Driver::waits_for_value() const {
  return std::ranges::any_of(
      busy_, [](const Stream* stream) { return stream->queue.front().ready != nullptr; });
}

// True if the task has started, or has run.
bool Driver::start(Stream& stream, Operation& operation) {
  const bool blocked =
      std::ranges::any_of(operation.after, [](const Point& point) { return !point.reached(); });
  if (blocked || (operation.ready && !operation.ready())) {
    return false;
  }
  if (operation.ns > 0) {
    Part part;
    if (operation.green != nullptr) {
      part = {.id = operation.green->context->id, .sms = operation.green->sms};
    }
    operation.work = device_.submit(stream.context->device,
                                    {.priority = operation.priority,
                                     .blocks = operation.blocks,
                                     .ns = operation.ns,
                                     .part = part});
    return operation.work.has_value();
  }
  if (operation.on_host) {
    operation.handed_over = true;
    return true;
  }
  std::int64_t when = stream.progress->finished_at;
  for (const Point& point : operation.after) {
    when = std::max(when, point.stream ? point.stream->finished_at : 0);
  }
  complete(stream, when == 0 ? device_.clock_ns() : when);
  return true;
}

void Driver::complete(Stream& stream, std::int64_t when) {
  Operation done = std::move(stream.queue.front());
  stream.queue.pop_front();
  stream.progress->completed = done.sequence;
  stream.progress->finished_at = when;
  if (done.complete) {
    done.complete(when);
  }
  if (stream.queue.empty()) {
    // The next task starts when it comes, not when this one ended.
    stream.progress->finished_at = 0;
    busy_.erase(&stream);
  }
  changed_.notify_all();
}

bool Driver::pump_stream(Stream& stream) {
  bool moved = false;
  while (!stream.queue.empty()) {
    Operation& head = stream.queue.front();
    if (head.work) {
      const auto end = device_.collect(stream.context->device, *head.work);
      if (!end) {
        break;
      }
      complete(stream, *end);
    } else if (head.host_done) {
      complete(stream, device_.clock_ns());
    } else if (head.handed_over || !start(stream, head)) {
      break;
    }
    moved = true;
  }
  return moved;
}

bool Driver::pump() {
  bool any = false;
  for (bool moved = true; moved;) {
    moved = false;
    const std::vector<Stream*> streams(busy_.begin(), busy_.end());
    for (Stream* stream : streams) {
      moved = pump_stream(*stream) || moved;
    }
    any = any || moved;
  }
  return any;
}

bool Driver::run_host_function(Guard& guard) {
  const auto found = std::ranges::find_if(busy_, [](const Stream* stream) {
    const Operation& head = stream->queue.front();
    return head.handed_over && head.on_host && !head.host_done;
  });
  if (found == busy_.end()) {
    return false;
  }
  Stream& stream = **found;
  const std::function<void()> function = std::move(stream.queue.front().on_host);
  stream.queue.front().on_host = nullptr;
  guard.unlock();
  function();
  guard.lock();
  stream.queue.front().host_done = true;
  pump();
  return true;
}

void Driver::enqueue(Guard& /*guard*/, Stream& stream, Operation operation) {
  operation.sequence = ++stream.progress->submitted;
  // The legacy default stream waits for all others that did not ask to be left out, and they for
  // it.
  if (stream.legacy) {
    for (const auto& other : stream.context->streams) {
      if (other.get() != &stream && (other->flags & kNonBlocking) == 0 && !other->queue.empty()) {
        operation.after.push_back(other->end());
      }
    }
  } else if ((stream.flags & kNonBlocking) == 0 && !stream.context->legacy->queue.empty()) {
    operation.after.push_back(stream.context->legacy->end());
  }
  std::vector<Point>& gates = stream.context->gates;
  std::erase_if(gates, [](const Point& gate) { return gate.reached(); });
  operation.after.insert(operation.after.end(), gates.begin(), gates.end());
  if (one_connection_) {
    Point& last = stream.context->last[stream.priority];
    operation.after.push_back(last);
    last = stream.end();
  }
  stream.queue.push_back(std::move(operation));
  busy_.insert(&stream);
  if (pump_stream(stream)) {
    pump();
  }
  if (!idle() && !device_.file().virtual_clock) {
    start_thread();
    wake_thread();
  }
}

void Driver::poll(Guard& /*guard*/) {
  if (!idle()) {
    (void)device_.run();
    pump();
  }
}

void Driver::wait_for(Guard& guard, const std::vector<Point>& points) {
  for (const Point& point : points) {
    wait_for(guard, point);
  }
}

void Driver::wait_for(Guard& guard, const Point& point) {
  while (!point.reached()) {
    if (!device_.file().virtual_clock) {
      changed_.wait(guard);
      continue;
    }
    if (pump() || run_host_function(guard)) {
      continue;
    }
    if (const auto next = device_.run(); next) {
      device_.set_time(*next);
    } else {
      // Another thread or process has to do something.
      guard.unlock();
      carpool::pause_for(std::chrono::microseconds(100));
      guard.lock();
    }
  }
}

void Driver::pass_time(std::int64_t ns) {
  Guard guard = lock();
  const std::int64_t until = device_.clock_ns() + ns;
  for (auto next = device_.run(); next && *next <= until; next = device_.run()) {
    device_.set_time(*next);
    pump();
  }
  device_.set_time(until);
  pump();
}

void Driver::start_thread() {
  if (!has_thread_) {
    has_thread_ = true;
    std::thread(&Driver::thread_main, this).detach();
  }
}

void Driver::wake_thread() {
  std::atomic<std::uint32_t>& word = device_.wake();
  word.fetch_add(1, std::memory_order_release);
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Driver::thread_main() {
  std::atomic<std::uint32_t>& word = device_.wake();
  while (true) {
    const std::uint32_t seen = word.load(std::memory_order_acquire);
    Guard guard = lock();
    poll(guard);
    if (run_host_function(guard)) {
      continue;
    }
    // After what has just started.
    const auto next = idle() ? std::nullopt : device_.run();
    std::int64_t span = next ? std::min(*next - device_.clock_ns(), kLongestWait) : kLongestWait;
    if (waits_for_value()) {
      span = std::min(span, kValuePoll);
    }
    const bool forever = idle();
    guard.unlock();
    if (!forever && span <= 0) {
      continue;
    }
    const timespec timeout{span / 1'000'000'000, span % 1'000'000'000};
    const long woken =
        ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, forever ? nullptr : &timeout, nullptr, 0);
    if (woken != 0 && span == kLongestWait && !forever) {
      device_.sweep();
    }
  }
}

}  // namespace fake_cuda
