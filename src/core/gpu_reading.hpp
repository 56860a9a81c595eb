// Everything that one look at a GPU told, for those who watch the machine. An absent value is one
// that this GPU or driver does not report.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/gpu.hpp"
#include "core/job.hpp"

namespace carpool {

// The names in GpuSample::throttle_reasons and GpuHealth::throttle_reasons.
inline constexpr std::array<std::string_view, 7> kThrottleReasons = {"power-cap",
                                                                     "thermal",
                                                                     "power-brake",
                                                                     "hardware-slowdown",
                                                                     "sync-boost",
                                                                     "clock-setting",
                                                                     "display-clock"};

// Errors of a GPU, and what limits its clocks.
struct GpuHealth {
  std::optional<std::uint64_t> ecc_corrected{};  // since the driver was loaded
  std::optional<std::uint64_t> ecc_uncorrected{};
  std::optional<std::uint64_t> xid_errors{};  // since the source was opened
  std::optional<std::uint64_t> last_xid{};    // empty: none was seen
  std::optional<std::vector<std::string>> throttle_reasons{};
};

// Share of the SMs' time that kernels of one process had lately, 0 to 1.
struct ProcessActivity {
  std::int64_t pid = 0;
  double sm_active = 0.0;
};

struct GpuReading {
  unsigned gpu = 0;  // the scheduler's index
  GpuInfo info{};
  GpuSample sample{};
  std::optional<GpuActivity> activity{};
  std::optional<GpuEnergy> energy{};
  GpuHealth health{};
  struct JobActivity {
    JobId job = 0;
    double sm_active = 0.0;
  };
  std::vector<JobActivity> jobs{};     // as far as the driver reports it by process
  bool process_activity_told = false;  // a process that is not reported did not compute
};

}  // namespace carpool
