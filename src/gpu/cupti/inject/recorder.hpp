// Runs the library in one process, from the driver's call to the end of the file. Failures become
// notes in the file and do not affect the program.
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
  // The instance of this process; never destroyed, as the program may call it until it exits.
  [[nodiscard]] static Recorder& instance();

  // Called inside cuInit. A second call does nothing.
  void start();
  // Makes the exit of the process wait, a few seconds at most, until the remaining records are
  // written. Exit handlers run in reverse order, so this is called again after each library that
  // CUPTI loads: the library is then still usable at exit.
  static void end_at_exit();
  // In a child of fork(), which is not recorded.
  void in_child();

  // Records a finished NVTX range while a window is open.
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
  std::optional<CounterSampler> counters_;  // none: not requested
  std::atomic<bool> alive_ = false;
  std::atomic<bool> recording_ = false;
  std::atomic<bool> exiting_ = false;
  bool stopped_ = false;
  std::int64_t flushed_at_ = 0;
  std::uint64_t counted_launches_ = 0;
  std::mutex mutex_;
  std::condition_variable finished_;
  bool is_finished_ = false;
};

}  // namespace carpool::gpu::inject
