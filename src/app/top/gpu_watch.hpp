// Reads all GPUs of this machine, or of a recording, for commands that show them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "app/top/process_names.hpp"
#include "app/top/shim_clients.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "core/gpu.hpp"
#include "core/job.hpp"
#include "core/telemetry_source.hpp"

namespace carpool::app {

struct NamedProcess {
  GpuProcess process;
  ProcessName name;            // empty in a recording, whose processes ran elsewhere
  std::optional<JobId> job{};  // of the server that it belongs to
  // Share of the time of the SMs that its kernels had, 0 to 1; absent: the driver does not tell.
  std::optional<double> sm_active{};
  // Whether the library stands in front of the driver in it. Absent: no program of this user on the
  // GPU has it, or the process is another user's.
  std::optional<bool> library{};
};

// A job of the server on a GPU.
struct GpuJob {
  JobId id = 0;
  std::string user{};
  std::string name{};  // empty: it is another user's
  std::string mechanism{};
  double run_s = 0.0;
  std::uint64_t used_bytes = 0;
  std::uint64_t reserved_bytes = 0;
  bool paused = false;
  std::optional<double> sm_active{};  // of all its processes there, as NamedProcess::sm_active
  pid_t supervisor = 0;               // 0: it has no processes
  pid_t session = 0;
};

struct GpuReading {
  GpuInfo info;
  std::optional<GpuSample> sample;      // absent: see problem
  std::optional<GpuActivity> activity;  // absent: no interval has ended yet
  std::vector<NamedProcess> processes;
  std::vector<ShimClient> clients;  // of this user; none in a recording
  // Jobs of the server; absent: no server answers that has this GPU.
  std::optional<std::vector<GpuJob>> jobs{};
  std::string problem;  // why the GPU did not respond; empty: it did
};

// The sensors of the GPUs of this machine. The error states what to do.
[[nodiscard]] Result<std::unique_ptr<TelemetrySource>> open_gpus();
// The one that a user names by its index.
[[nodiscard]] Result<GpuInfo> find_gpu(TelemetrySource& gpus, unsigned index);

class GpuWatch {
 public:
  // Starts the first interval of activity of every GPU and of its clients. `replay` names a
  // recording.
  [[nodiscard]] static Result<GpuWatch> open(const std::optional<std::string>& replay);

  // One reading per GPU. A GPU that does not respond is listed with its problem.
  [[nodiscard]] std::vector<GpuReading> read();

 private:
  GpuWatch(std::unique_ptr<TelemetrySource> source, std::vector<GpuInfo> gpus, bool recorded)
      : source_(std::move(source)), gpus_(std::move(gpus)), recorded_(recorded) {}

  void start_clients();
  [[nodiscard]] GpuReading read_one(const GpuInfo& info);
  void read_processes(GpuReading& reading);

  // What the driver told last of the activity of processes on a GPU.
  struct ProcessReading {
    std::optional<std::vector<ProcessActivity>> told{};
    Stopwatch since{};
  };
  [[nodiscard]] const ProcessReading& process_reading(unsigned gpu);

  std::unique_ptr<TelemetrySource> source_;
  std::vector<GpuInfo> gpus_;
  std::map<unsigned, ProcessReading> process_readings_;
  ShimClientWatch shim_;
  bool recorded_;
};

}  // namespace carpool::app
