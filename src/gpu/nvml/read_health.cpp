#include "gpu/nvml/read_health.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "gpu/nvml/read_device.hpp"

namespace carpool::gpu::nvml {

XidEvents::XidEvents(const DeviceRef& gpu)
    : call_(&gpu.library->call()), events_(nullptr, FreeEventSet{call_}) {
  if (call_->event_set_create == nullptr || call_->event_set_free == nullptr ||
      call_->register_events == nullptr || call_->event_set_wait == nullptr) {
    return;
  }
  EventSet made = nullptr;
  if (call_->event_set_create(&made) != kSuccess) {
    return;
  }
  events_.reset(made);
  if (call_->register_events(gpu.handle, kEventXid, made) != kSuccess) {
    events_.reset();
  }
}

void XidEvents::take() {
  constexpr int kMostAtOnce = 1000;  // a broken GPU reports without end
  EventData event;
  for (int i = 0; i < kMostAtOnce && events_ != nullptr &&
                  call_->event_set_wait(events_.get(), &event, 0) == kSuccess;
       ++i) {
    if ((event.type & kEventXid) != 0) {
      ++count_;
      last_ = event.data;
    }
  }
}

Result<GpuHealth> read_health(const DeviceRef& gpu, XidEvents& xids) {
  const Functions& call = gpu.library->call();
  Reader reader(gpu);
  GpuHealth health{
      .ecc_corrected = reader.read<unsigned long long>(
          "corrected ECC errors", call.ecc_errors, kEccCorrected, kEccSinceDriverLoad),
      .ecc_uncorrected = reader.read<unsigned long long>(
          "uncorrected ECC errors", call.ecc_errors, kEccUncorrected, kEccSinceDriverLoad)};
  if (const auto bits =
          reader.read<unsigned long long>("reasons to throttle", call.clock_reasons)) {
    health.throttle_reasons = reason_names(*bits);
  }
  xids.take();
  health.xid_errors = xids.count();
  health.last_xid = xids.last();
  return reader.finish(std::move(health));
}

Result<std::optional<std::vector<ProcessActivity>>> read_process_activity(
    const DeviceRef& gpu, unsigned long long& seen_us) {
  constexpr unsigned kRoom = 1024;  // samples; the driver keeps one for each process and span
  constexpr double kWhole = 100.0;  // percent
  const auto function = gpu.library->call().process_utilization;
  if (function == nullptr) {
    return std::nullopt;
  }
  std::vector<ProcessUtilization> samples(kRoom);
  unsigned count = kRoom;
  const Return code = function(gpu.handle, samples.data(), &count, seen_us);
  if (code == kNotFound) {  // no process computed since
    return std::vector<ProcessActivity>();
  }
  // Beyond the room nothing is known of any process.
  if (code == kInsufficientSize || is_absence(code)) {
    return std::nullopt;
  }
  if (code != kSuccess) {
    return tl::unexpected(gpu.library->failure(
        fmt::format("read the activity of processes on GPU {}", gpu.index), code));
  }
  samples.resize(std::min(count, kRoom));
  std::ranges::sort(samples, {}, &ProcessUtilization::time_stamp);
  std::map<unsigned, double> latest;
  for (const ProcessUtilization& sample : samples) {
    latest[sample.pid] = std::min(1.0, sample.sm / kWhole);
    seen_us = std::max(seen_us, sample.time_stamp);
  }
  std::vector<ProcessActivity> processes;
  processes.reserve(latest.size());
  for (const auto& [pid, active] : latest) {
    processes.push_back({.pid = pid, .sm_active = active});
  }
  return processes;
}

}  // namespace carpool::gpu::nvml
