// The GPUs of this machine with the jobs of the server on them. Of simulated GPUs, of another
// machine and where no driver is found here: what the server knows of its GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/shared_options.hpp"
#include "app/server/server_client.hpp"
#include "app/top/gpu_watch.hpp"
#include "base/result.hpp"

namespace carpool::app {

// What the answer of /v1/gpus says of each GPU.
[[nodiscard]] std::vector<GpuReading> served_readings(const nlohmann::json& answer);

// The job of a process; empty: it belongs to none.
using JobOfProcess = std::function<std::optional<JobId>(std::int64_t pid)>;

// Adds the jobs of the server's GPUs to the readings of the same GPUs, by UUID; a GPU in MIG mode
// has the jobs of its instances.
void join_jobs(std::vector<GpuReading>& gpus,
               const std::vector<GpuReading>& served,
               const JobOfProcess& job_of);

class ServedGpus {
 public:
  // As GpuWatch::open. A server that does not answer is not an error: there are no jobs then.
  [[nodiscard]] static Result<ServedGpus> open(const std::optional<std::string>& replay,
                                               const ServerOptions& server);

  [[nodiscard]] std::vector<GpuReading> read();
  [[nodiscard]] Result<void> cancel(JobId job);

 private:
  ServedGpus(std::optional<GpuWatch> watch, std::optional<ServerOptions> server)
      : watch_(std::move(watch)), server_(std::move(server)) {}
  [[nodiscard]] std::vector<GpuReading> ask();

  std::optional<GpuWatch> watch_;        // absent: what the server tells is shown
  std::optional<ServerOptions> server_;  // absent: a recording is shown
  std::size_t skipped_ = 0;              // questions to a server that did not answer
};

}  // namespace carpool::app
