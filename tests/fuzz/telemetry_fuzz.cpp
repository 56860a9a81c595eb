// Any bytes as a telemetry recording: the parser returns a recording that can be replayed and
// is the same when written and read again, or an error with a message.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "gpu/replay/replay_telemetry.hpp"

namespace carpool {
namespace {

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

std::string written(const gpu::TelemetryRecording& recording) {
  std::string text = gpu::recording_header(recording.recorded, recording.gpus);
  for (const gpu::TelemetryReading& reading : recording.readings) {
    text += gpu::recording_line(reading);
  }
  return text;
}

void feed(std::string_view text) {
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

}  // namespace
}  // namespace carpool

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer looks for this name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  carpool::feed({reinterpret_cast<const char*>(data), size});
  return 0;
}
