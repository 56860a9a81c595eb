#include "serve/scheduler_loop.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <exception>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/process/thread.hpp"
#include "base/server_clock.hpp"

namespace carpool::serve {

Result<std::unique_ptr<SchedulerLoop>> SchedulerLoop::start(schedule::Scheduler& scheduler,
                                                            LoopSettings settings) {
  Descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) {
    return fail(ErrorCode::Internal, fmt::format("create an event descriptor: {}", last_error()));
  }
  std::unique_ptr<SchedulerLoop> loop(
      new SchedulerLoop(scheduler, std::move(settings), std::move(wake)));
  Result<std::thread> thread = start_thread([raw = loop.get()] { raw->run(); });
  if (!thread) {
    return tl::unexpected(thread.error());
  }
  loop->thread_ = std::move(*thread);
  return loop;
}

SchedulerLoop::SchedulerLoop(schedule::Scheduler& scheduler, LoopSettings settings, Descriptor wake)
    : scheduler_(scheduler), settings_(std::move(settings)), wake_(std::move(wake)) {
  if (!settings_.clock) {
    settings_.clock = [clock = ServerClock::unkept()] { return clock.now_s(); };
  }
}

SchedulerLoop::~SchedulerLoop() {
  stop();
}

double SchedulerLoop::now_s() {
  const std::scoped_lock lock(mutex_);
  latest_s_ = std::max(latest_s_, settings_.clock());
  return latest_s_;
}

void SchedulerLoop::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t told = ::write(wake_.get(), &one, sizeof one);
}

Result<void> SchedulerLoop::perform(SchedulerWork work) {
  std::optional<Result<void>> given;
  std::unique_lock lock(mutex_);
  if (stalled_) {
    return tl::unexpected(*stalled_);
  }
  if (!ended_) {
    tasks_.push_back({.work = std::move(work), .answer = &given});
    wake();
    answered_.wait(lock, [&] { return given || ended_; });
  }
  if (given) {
    return *given;
  }
  return fail(ErrorCode::Unavailable,
              failure_ ? fmt::format("the scheduler has stopped: {}", failure_->message)
                       : "the server is stopping; try again");
}

void SchedulerLoop::post(PostTopic topic, SchedulerWork work) {
  const std::scoped_lock lock(mutex_);
  if (ended_) {
    return;
  }
  if (stalled_) {
    std::erase_if(tasks_, [&](const Task& task) { return task.topic == topic; });
  }
  tasks_.push_back({.work = std::move(work), .topic = topic});
  if (!stalled_) {
    wake();
  }
}

void SchedulerLoop::stop() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  wake();
  if (thread_.joinable()) {
    thread_.join();
  }
}

std::optional<Error> SchedulerLoop::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

std::optional<Error> SchedulerLoop::stalled() const {
  const std::scoped_lock lock(mutex_);
  return stalled_;
}

void SchedulerLoop::run() {
  while (true) {
    const Result<void> turned = turn_caught();
    ++turns_;
    const std::scoped_lock lock(mutex_);
    if (!turned) {
      log_error(turned.error().message);
      failure_ = turned.error();
    }
    if (!turned || (ending_ && tasks_.empty())) {
      ended_ = true;
      answered_.notify_all();
      return;
    }
  }
}

void SchedulerLoop::wait() {
  {
    const std::scoped_lock lock(mutex_);
    if (ending_ || !tasks_.empty()) {
      return;
    }
  }
  double seconds = settings_.look_every_s;
  if (next_s_) {
    seconds = std::clamp((*next_s_ - now_s()) / settings_.speed, 0.0, seconds);
  }
  std::array<pollfd, 2> sources = {pollfd{wake_.get(), POLLIN, 0},
                                   pollfd{settings_.wake_descriptor, POLLIN, 0}};
  ::poll(sources.data(), sources.size(), static_cast<int>(std::ceil(seconds * 1000.0)));
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &count, sizeof count);
}

// An exception leaves the scheduler in an unknown state: the loop ends, and the next server reads
// the journal.
Result<void> SchedulerLoop::turn_caught() {
  try {
    return turn();
  } catch (const std::exception& problem) {
    return fail(ErrorCode::Internal, fmt::format("the scheduler failed: {}", problem.what()));
  }
}

Result<void> SchedulerLoop::turn() {
  wait();
  std::vector<Task> tasks;
  {
    const std::scoped_lock lock(mutex_);
    tasks.swap(tasks_);
  }
  std::vector<Task> looks;    // that changed nothing
  std::vector<Task> changes;  // that are answered when they are durable
  for (Task& task : tasks) {
    const std::size_t before = scheduler_.unflushed();
    task.work(scheduler_, now_s());
    (scheduler_.unflushed() == before ? looks : changes).push_back(std::move(task));
  }
  if (Result<void> durable = flush(looks); !durable) {
    return durable;
  }
  // Before jobs are placed and started: that takes longer, and no caller waits for it.
  answer(looks, {});
  answer(changes, {});
  if (settings_.each_turn) {
    settings_.each_turn(scheduler_, now_s());
  }
  const Stopwatch watch;
  scheduler_.step(now_s());
  if (settings_.on_decision) {
    settings_.on_decision(watch.seconds());
  }
  next_s_ = scheduler_.next_wakeup_s();
  looks.clear();
  return flush(looks);
}

// A full disk is waited out: what the scheduler decided stays pending, those who wait for it are
// answered when it is durable, and all others are refused meanwhile.
Result<void> SchedulerLoop::flush(std::vector<Task>& looks) {
  Result<void> durable = scheduler_.flush();
  while (!durable && durable.error().code == ErrorCode::Unavailable &&
         pause_before_retry(durable.error(), looks)) {
    durable = scheduler_.flush();
  }
  const std::scoped_lock lock(mutex_);
  if (durable && stalled_) {
    log_info("the journal can be written again");
    stalled_.reset();
  }
  return durable;
}

// False: the loop is to end.
bool SchedulerLoop::pause_before_retry(const Error& trouble, std::vector<Task>& looks) {
  std::vector<Task> refused = std::exchange(looks, {});
  {
    const std::scoped_lock lock(mutex_);
    if (!stalled_) {
      log_error(fmt::format("{}; no request is accepted until it can", trouble.message));
      stalled_ = Error{ErrorCode::Unavailable,
                       fmt::format("{}. Running jobs continue; try again later", trouble.message)};
    }
    std::vector<Task> posted;
    for (Task& task : tasks_) {
      (task.topic ? posted : refused).push_back(std::move(task));
    }
    tasks_ = std::move(posted);
  }
  answer(refused, tl::unexpected(*stalled_));
  ++turns_;
  constexpr int kPauseMs = 1000;
  pollfd source{wake_.get(), POLLIN, 0};
  ::poll(&source, 1, kPauseMs);
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &count, sizeof count);
  const std::scoped_lock lock(mutex_);
  return !ending_;
}

void SchedulerLoop::answer(const std::vector<Task>& tasks, const Result<void>& answer) {
  const std::scoped_lock lock(mutex_);
  for (const Task& task : tasks) {
    if (task.answer != nullptr) {
      *task.answer = answer;
    }
  }
  answered_.notify_all();
}

}  // namespace carpool::serve
