// The contract suite over the sources that need no driver.
#include <filesystem>

#include "gpu/fake/fake_telemetry.hpp"
#include "gpu/replay/replay_telemetry.hpp"
#include "gpu/tests/telemetry_contract.hpp"

namespace carpool::gpu {
namespace {

Result<std::unique_ptr<TelemetrySource>> open_fake() {
  auto fake = std::make_unique<FakeTelemetry>(two_fake_gpus());
  for (unsigned gpu = 0; gpu < 2; ++gpu) {
    fake->set_activity(gpu, {.span_seconds = 0.0, .graphics_active = 0.9, .sm_active = 0.5});
    fake->set_processes(gpu, {{.pid = 100 + gpu, .memory_bytes = 1U << 20U}});
  }
  return fake;
}

Result<std::unique_ptr<TelemetrySource>> open_replay(const char* file) {
  auto recording = load_recording(std::filesystem::path(CARPOOL_SOURCE_DIR) / file);
  if (!recording) {
    return tl::unexpected(std::move(recording.error()));
  }
  return std::make_unique<ReplayTelemetry>(std::move(*recording));
}

}  // namespace

std::vector<TelemetryCase> telemetry_cases() {
  const auto move_clock = [](TelemetrySource& source, std::chrono::milliseconds span) {
    dynamic_cast<FakeTelemetry&>(source).advance(span);
  };
  const auto nothing = [](TelemetrySource&, std::chrono::milliseconds) {};
  return {
      {.name = "Fake", .open = open_fake, .pass = move_clock},
      {.name = "Replay",
       .open = [] { return open_replay("src/gpu/tests/data/two_gpus.jsonl"); },
       .pass = nothing,
       .keeps_time = false},
      {.name = "ReplayOfAnH200",
       .open = [] { return open_replay("data/recordings/h200-compute.jsonl"); },
       .pass = nothing,
       .keeps_time = false},
  };
}

}  // namespace carpool::gpu
