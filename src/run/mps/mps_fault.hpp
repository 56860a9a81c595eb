// Whether MPS made a job fail, from the state of its daemon and from the logs, which are text that
// the user of the job may have written.
#pragma once

#include <cstdint>
#include <sys/types.h>

#include "gpu/mps/process_identity.hpp"
#include "run/supervisor/supervisor_order.hpp"

namespace carpool::run {

// Sizes of the logs at some time.
struct MpsLogs {
  std::uint64_t control_bytes = 0;
  std::uint64_t server_bytes = 0;
};
[[nodiscard]] MpsLogs mps_logs(const MpsPlace& place);

enum class MpsVerdict {
  NoFault,
  Failed,       // the daemon or its server: it reports a fault, does not answer, or is another one
  OwnGpuFault,  // a fatal error of the GPU while the job was the only client
  SharedGpuFault,  // a fatal error of the GPU that other processes had too
  GpuFaultOfJob,   // SharedGpuFault, and the log names the first process of the job
};

// Of the time since `daemon` and `logs` were seen.
[[nodiscard]] MpsVerdict judge_mps(const SupervisorOrder& order,
                                   const gpu::ProcessIdentity& daemon,
                                   const MpsLogs& logs,
                                   pid_t leader);

// For a client that stands still: after a fatal error of the GPU it must run and end, because the
// MPS server waits for the end of all clients.
class MpsFaultWatch {
 public:
  explicit MpsFaultWatch(const SupervisorOrder& order) : order_(order) {}
  void begin();
  // Since begin().
  [[nodiscard]] bool gpu_failed();

 private:
  const SupervisorOrder& order_;
  std::uint64_t read_bytes_ = 0;  // of the server's log
};

}  // namespace carpool::run
