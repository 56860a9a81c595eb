// Settings of the fake driver: lines "key = value" of the file that CARPOOL_FAKE_CUDA names, read
// when a process first uses the driver. "#" starts a comment. Without the variable every value has
// its default, and processes do not share the device.
//
//   gpus = 1                   number of devices, at most 4
//   machine = 64250            the first two bytes of the devices' UUIDs
//   version = 13000            the driver's version; newer functions are not found
//   missing = cuFoo cuBar_v2   functions that the driver does not have
//   fail.cuFoo = 999           the code that this function returns
//   memory = 143771            MiB of each device
//   context_memory = 0         MiB that a process's first context on a device takes
//   granularity = 512          bytes to which an allocation is rounded up
//   green_contexts = 1         0: the driver has none; their functions are not found, and fail
//   managed = 1                0: cuMemAllocManaged is not supported
//   device = FILE              shared by the processes that name it; default: the settings' name
//                              with ".device" added
//   mode = mps                 or timeslice: one process at a time
//   slice_us = 2000            timeslice: how long a process keeps the device
//   switch_us = 100            timeslice: how long a change takes
//   sms = 132                  multiprocessors; each runs one block at a time
//   clock = real               or virtual: time passes only while a process waits
//   kernel_us = 0              length of a kernel that runs solo and says nothing by its name
//   kernel.NAME = 500          µs of that kernel; a name may also end in its length, spin_500us
//   copy_mib_per_s = 0         speed of copies; 0: they take no time
//   counts = FILE              each process appends a line with its counts when it exits
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace fake_cuda {

class Settings {
 public:
  Settings() = default;
  // Of a text in the form of the file.
  explicit Settings(std::string_view text);
  // Of the file that CARPOOL_FAKE_CUDA names.
  [[nodiscard]] static Settings of_environment();

  [[nodiscard]] std::string text(const std::string& key, const std::string& fallback) const;
  [[nodiscard]] std::uint64_t number(const std::string& key, std::uint64_t fallback) const;
  // True if the blank-separated words of this key contain this one.
  [[nodiscard]] bool has_word(const std::string& key, std::string_view word) const;

  // Whether a function is to fail: most runs have none, and need not look.
  [[nodiscard]] bool has_failures() const { return has_failures_; }
  // How long a kernel of this name runs solo.
  [[nodiscard]] std::int64_t kernel_ns(const std::string& name) const;

 private:
  std::map<std::string, std::string> values_;
  bool has_failures_ = false;
};

}  // namespace fake_cuda
