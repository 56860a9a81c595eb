#include "gpu/cupti/inject/recorder.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <pthread.h>
#include <thread>

#include "base/clock.hpp"

namespace carpool::gpu::inject {
namespace {

namespace format = activity_format;

constexpr std::chrono::seconds kExitPatience{5};

void fork_child() {
  Recorder::instance().in_child();
}

}  // namespace

void Recorder::end_at_exit() {
  (void)std::atexit([] {
    try {
      instance().at_exit();
    } catch (...) {  // NOLINT(bugprone-empty-catch): the program exits as it would without us
    }
  });
}

Recorder& Recorder::instance() {
  static auto* const recorder = new Recorder;
  return *recorder;
}

void Recorder::start() {
  if (settings_.has_value()) {
    return;
  }
  settings_ = settings_from_environment();
  if (!settings_.has_value()) {
    return;
  }
  const bool wants_cupti = settings_->activity || settings_->counters || settings_->probe;
  if (wants_cupti) {
    cupti_ = find_cupti(settings_->cupti_library);
  }
  if (!file_.open(settings_->folder, cupti_.handle != nullptr ? cupti_.version : 0)) {
    return;
  }
  control_.open(settings_->folder);
  alive_ = true;
  if (cupti_.handle != nullptr) {
    start_vendor();
  } else if (wants_cupti) {
    file_.note(format::NoteKind::NoCupti, 0, cupti_.refusal);
  }
  file_.flush();
  control_.attached();
  follow_order();  // without a control file, from the first launch
  (void)::pthread_atfork(nullptr, nullptr, &fork_child);
  start_thread();
}

void Recorder::start_vendor() {
  file_.note(format::NoteKind::Information,
             0,
             joined({"CUPTI ", std::to_string(cupti_.version), " from ", cupti_.path}));
  if (settings_->activity) {
    activity_.start();
  }
  if (settings_->counters || settings_->probe) {
    counters_.emplace(cupti_, file_);
  }
}

void Recorder::start_thread() {
  // Signals are left to the program's own threads.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread([this] { run(); }).detach();
  } catch (...) {
    alive_ = false;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Recorder::in_child() {
  alive_ = false;
  ActivitySource::forget();
}

void Recorder::range(const format::Range& range, std::string_view name) {
  if (alive_ && recording_) {
    file_.range(range, name);
  }
}

void Recorder::run() {
  try {
    while (!stopped_) {
      step();
    }
  } catch (...) {
    alive_ = false;
  }
  const std::lock_guard lock(mutex_);
  is_finished_ = true;
  finished_.notify_all();
}

void Recorder::step() {
  take_in();
  if (exiting_) {
    finish(true);
    return;
  }
  follow_order();
  if (stopped_) {
    return;
  }
  start_counters();
  flush_if_due();
}

void Recorder::take_in() {
  activity_.write_completed();
  control_.launches(activity_.launches() - counted_launches_, activity_.last_start());
  counted_launches_ = activity_.launches();
}

void Recorder::follow_order() {
  const format::Order order = control_.order();
  if (order == format::Order::Record && !recording_) {
    begin_window();
  }
  if (order == format::Order::Stop) {
    finish(false);
  } else if (recording_ && activity_.kept() >= settings_->max_launches) {
    file_.note(format::NoteKind::LimitReached,
               0,
               joined({"recording stopped at the limit of ",
                       std::to_string(settings_->max_launches),
                       " launches and copies"}));
    finish(false);
  }
}

void Recorder::begin_window() {
  const std::int64_t now = monotonic_ns();
  activity_.keep_from(now);
  file_.window(true, now);
  file_.flush();
  control_.recording(true);
  recording_ = true;
}

void Recorder::start_counters() {
  if (!counters_.has_value() || counters_->started() || !recording_) {
    return;
  }
  if (const auto used = device(); used.has_value()) {
    counters_->start(*used, settings_->probe, &Recorder::end_at_exit);
  }
}

// The device of the first kernel, when the driver is ready; without kernel records device 0 once
// the driver answers.
std::optional<std::uint32_t> Recorder::device() const {
  if (activity_.started()) {
    return activity_.device();
  }
  using Count = cupti::Code (*)(int*);
  const auto count = reinterpret_cast<Count>(driver_function("cuDeviceGetCount"));
  int devices = 0;
  if (count == nullptr || count(&devices) != cupti::kSuccess || devices == 0) {
    return std::nullopt;
  }
  return 0;
}

void Recorder::flush_if_due() {
  const std::int64_t now = monotonic_ns();
  if (now - flushed_at_ < std::int64_t{settings_->flush_ms} * 1'000'000) {
    return;
  }
  flushed_at_ = now;
  activity_.flush();
  file_.flush();
}

void Recorder::finish(bool exiting) {
  const std::int64_t now = monotonic_ns();
  stopped_ = true;
  if (counters_.has_value()) {
    counters_->stop();
  }
  if (exiting) {
    activity_.finish_at_exit();
  } else {
    activity_.finish_at(now);
  }
  take_in();
  const std::uint64_t dropped = activity_.dropped();
  if (dropped != 0) {
    file_.note(format::NoteKind::Dropped,
               static_cast<int>(std::min<std::uint64_t>(dropped, INT32_MAX)),
               joined({std::to_string(dropped), " records were lost: the buffers were full"}));
  }
  if (recording_) {
    file_.window(false, now);
    control_.recording(false);
    recording_ = false;
  }
  file_.end({now, activity_.launches(), dropped});
  control_.ended();
}

void Recorder::at_exit() {
  if (!alive_) {
    return;
  }
  exiting_ = true;
  activity_.wake();
  std::unique_lock lock(mutex_);
  finished_.wait_for(lock, kExitPatience, [this] { return is_finished_; });
}

}  // namespace carpool::gpu::inject
