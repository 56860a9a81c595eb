// Settings of a server, as `carpool serve` takes them.
#pragma once

#include <optional>
#include <string>

#include "app/cli/shared_options.hpp"

namespace carpool::app {

struct ServeOptions {
  ServerOptions server;
  bool system = false;
  std::optional<std::string> state;
  std::optional<std::string> data;  // dataset whose model predicts interference
  std::string policy = "carpool";
  std::string order = "fair";
  std::string recovery = "reserve";
  std::string window = "mean";
  bool no_mps = false;
  bool no_shim = false;                    // jobs run without the library of shim.md
  bool no_profile_windows = false;         // launches of jobs are not counted
  bool kernel_windows = false;             // kernels of each workload are recorded once
  std::optional<unsigned> openmp_threads;  // of a job that shares a GPU; 0: left alone
  std::optional<std::string> listen;
  std::optional<std::string> tokens;
  std::optional<std::string> tls_cert;
  std::optional<std::string> tls_key;
  std::optional<std::string> group;
  std::optional<std::string> operators;
  std::optional<int> user_priority;  // the highest that users may choose; empty: 0
  std::optional<std::string> slo_group;
  double stop_grace_s = 30.0;
  std::string output_limit = "1G";          // of each output of a job, or "none"
  std::optional<std::string> keep_outputs;  // age at which outputs are removed; empty: never
  bool dcgm_names = false;                  // metrics also under DCGM's names
  std::optional<std::string> dcgm_job_map;  // folder
  std::optional<std::string> simulated;     // "2xA100-40"
  double speed = 60.0;                      // of simulated time
};

void add_serve_options(OptionSet& options, ServeOptions& serve);

}  // namespace carpool::app
