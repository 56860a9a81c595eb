// The life of the library in one process: from the driver's call to the end of the file. Everything
// that can go wrong becomes a note in the file; the program goes on as if nothing was there.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>

#include "gpu/cupti/inject/activity_source.hpp"
#include "gpu/cupti/inject/control_view.hpp"
#include "gpu/cupti/inject/counter_sampler.hpp"
#include "gpu/cupti/inject/record_file.hpp"
#include "gpu/cupti/inject/settings.hpp"
#include "gpu/cupti/inject/vendor_library.hpp"

namespace carpool::gpu::inject {

class Recorder {
 public:
  // The one of this process; never destroyed, as the program may call to its very end.
  [[nodiscard]] static Recorder& instance();

  // From inside cuInit. A second call does nothing.
  void start();
  // From now on an exit of the process first waits until what is left is written, a few seconds at
  // most. Exit handlers run in the reverse order of these calls: once more after the vendor has
  // loaded a library, and that library is still whole when we end our use of it.
  static void end_at_exit();
  // In a child of fork(): the child is none of ours.
  void in_child();

  // A range of the program has ended; kept while a window is open.
  void range(const activity_format::Range& range, std::string_view name);

 private:
  Recorder() : activity_(cupti_, file_) {}
  void start_vendor();
  void start_thread();
  void run();
  void step();
  void take_in();
  void follow_order();
  void begin_window();
  void start_counters();
  [[nodiscard]] std::optional<std::uint32_t> device() const;
  void flush_if_due();
  void finish(bool exiting);
  void at_exit();

  std::optional<Settings> settings_;
  Cupti cupti_;
  RecordFile file_;
  ControlView control_;
  ActivitySource activity_;
  std::optional<CounterSampler> counters_;  // none: not wanted
  std::atomic<bool> alive_ = false;
  std::atomic<bool> recording_ = false;
  std::atomic<bool> exiting_ = false;
  bool stopped_ = false;
  std::int64_t flushed_at_ = 0;
  std::uint64_t told_launches_ = 0;
  std::mutex mutex_;
  std::condition_variable finished_;
  bool is_finished_ = false;
};

}  // namespace carpool::gpu::inject
