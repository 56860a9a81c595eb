#include "gpu/replay/recorder.hpp"

#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/files/file.hpp"
#include "gpu/replay/recording.hpp"

namespace carpool::gpu {
namespace {

bool same_gpus(const std::vector<GpuInfo>& left, const std::vector<GpuInfo>& right) {
  if (left.size() != right.size()) {
    return false;
  }
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i].uuid != right[i].uuid || left[i].driver != right[i].driver) {
      return false;
    }
  }
  return true;
}

Result<void> check_continues(const TelemetryRecording& before,
                             const std::vector<GpuInfo>& gpus,
                             TelemetrySource& source,
                             const std::filesystem::path& path) {
  if (!same_gpus(before.gpus, gpus)) {
    return invalid_input(
        fmt::format("{} is a recording of other GPUs or another driver; record to another file",
                    path.string()));
  }
  if (before.readings.empty()) {
    return {};
  }
  const TelemetryReading& last = before.readings.back();
  const auto now = source.sample(last.gpu);
  if (!now) {
    return tl::unexpected(now.error());
  }
  if (now->at_ns < last.sample.at_ns) {
    return invalid_input(
        fmt::format("{} was recorded before the last boot of this machine; record to another file",
                    path.string()));
  }
  return {};
}

// Writes the header of a new file, or checks that an existing one can be continued.
Result<void> prepare(TelemetrySource& source,
                     const std::vector<GpuInfo>& gpus,
                     const std::filesystem::path& path) {
  const auto text = read_file(path);
  if (text) {
    return parse_recording(*text, path.string()).and_then([&](const TelemetryRecording& before) {
      return check_continues(before, gpus, source, path);
    });
  }
  if (text.error().code != ErrorCode::NotFound) {
    return tl::unexpected(text.error());
  }
  return write_file(path, recording_header(utc_timestamp(), gpus));
}

Result<TelemetryReading> read_one(TelemetrySource& source, unsigned gpu) {
  TelemetryReading reading{.gpu = gpu};
  auto activity = source.activity(gpu);
  if (!activity) {
    return tl::unexpected(std::move(activity.error()));
  }
  auto sample = source.sample(gpu);
  if (!sample) {
    return tl::unexpected(std::move(sample.error()));
  }
  auto processes = source.processes(gpu);
  if (!processes) {
    return tl::unexpected(std::move(processes.error()));
  }
  reading.activity = std::move(*activity);
  reading.sample = std::move(*sample);
  reading.processes = std::move(*processes);
  return reading;
}

tl::unexpected<Error> write_failure(const std::filesystem::path& path) {
  return fail(
      ErrorCode::Internal,
      fmt::format("append to {}: {}", path.string(), std::generic_category().message(errno)));
}

}  // namespace

Result<Recorder> Recorder::open(TelemetrySource& source, const std::filesystem::path& path) {
  const auto gpus = source.list_gpus();
  if (!gpus) {
    return tl::unexpected(gpus.error());
  }
  if (gpus->empty()) {
    return fail(ErrorCode::Unsupported, "no GPU to record");
  }
  if (auto prepared = prepare(source, *gpus, path); !prepared) {
    return tl::unexpected(std::move(prepared.error()));
  }
  Descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!file.valid()) {
    return write_failure(path);
  }
  return Recorder(source, path, std::move(file), gpus->size());
}

Result<void> Recorder::take() {
  std::string lines;
  for (unsigned gpu = 0; gpu < gpus_; ++gpu) {
    const auto reading = read_one(*source_, gpu);
    if (!reading) {
      return tl::unexpected(reading.error());
    }
    lines += recording_line(*reading);
  }
  ssize_t written = -1;
  do {
    written = ::write(file_.get(), lines.data(), lines.size());
  } while (written < 0 && errno == EINTR);
  if (written < 0) {
    return write_failure(path_);
  }
  if (static_cast<std::size_t>(written) != lines.size()) {
    return fail(
        ErrorCode::Internal,
        fmt::format("append to {}: only {} of {} bytes were written; the last line is incomplete. "
                    "Is the disk full?",
                    path_.string(),
                    written,
                    lines.size()));
  }
  return {};
}

}  // namespace carpool::gpu
