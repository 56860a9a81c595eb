// Any bytes as a telemetry recording: the parser returns a recording that can be replayed and
// is the same when written and read again, or an error with a message.
#include <string>
#include <string_view>

#include "gpu/replay/replay_telemetry.hpp"
#include "targets.hpp"

namespace carpool::fuzz {
namespace {

std::string written(const gpu::TelemetryRecording& recording) {
  std::string text = gpu::recording_header(recording.recorded, recording.gpus);
  for (const gpu::TelemetryReading& reading : recording.readings) {
    text += gpu::recording_line(reading);
  }
  return text;
}

}  // namespace

void feed_telemetry(std::string_view text) {
  auto recording = gpu::parse_recording(text, "r.jsonl");
  if (!recording) {
    require(!recording.error().message.empty());
    return;
  }
  const std::string once = written(*recording);
  const auto again = gpu::parse_recording(once, "r.jsonl");
  require(again.has_value() && written(*again) == once);

  const std::size_t readings = recording->readings.size();
  const auto gpus = static_cast<unsigned>(recording->gpus.size());
  gpu::ReplayTelemetry replay(std::move(*recording));
  for (unsigned gpu = 0; gpu < gpus; ++gpu) {
    for (std::size_t i = 0; i <= readings; ++i) {
      require(replay.sample(gpu).has_value() == replay.processes(gpu).has_value());
      (void)replay.activity(gpu);
    }
  }
  require(!replay.sample(gpus).has_value());
}

}  // namespace carpool::fuzz
