// One attempt at a job: what is started, and how it ended.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/group.hpp"
#include "core/job.hpp"

namespace carpool {

struct RunId {
  JobId job = 0;
  unsigned attempt = 0;  // from 1
  auto operator<=>(const RunId&) const = default;
};

// How a job shares the GPUs that it runs on.
enum class ShareMechanism {
  None,         // it does not share
  TimeSlicing,  // by the driver
  Mps,
};

struct LaunchSpec {
  RunId run{};
  JobSpec job{};
  JobOwner owner{};
  std::vector<std::string> gpu_uuids{};  // a MIG instance has one too
  std::vector<unsigned> gpu_indices{};   // the scheduler's, in the same order
  ShareMechanism mechanism = ShareMechanism::None;
  double thread_limit = kAllThreads;  // MPS only
  bool low_priority = false;          // MPS client priority
  // Of each process, where a mechanism can enforce it: the job's own limit and the scheduler's cap.
  std::optional<std::uint64_t> memory_limit_bytes{};
};

// Why a running job stands still.
enum class PauseCause {
  Turn,          // others compute on its GPU; it goes on when one of them ends
  Interference,  // the group runs slower than without it
  Memory,        // it grows, and the memory of its GPU is nearly used up
};

enum class RunEnd {
  Succeeded,
  Failed,       // exit status, signal
  OutOfMemory,  // of the GPU
  OverCap,      // of the memory that the scheduler allowed it: not a failure of the job
  HostOutOfMemory,
  MpsFault,  // the MPS server that it shared failed
  TimeLimit,
  Cancelled,
  NeverStarted,    // no such program, no working folder, …
  MachineTrouble,  // the machine kept it from starting, not the job; see TroubleScope
  Lost,            // its supervisor was killed, or the machine went down
};

// What trouble of the machine affects: where nothing starts until a pause is over.
enum class TroubleScope {
  Job,      // this job: its working folder is on a file system that does not answer, …
  User,     // jobs of its user: the user cannot be looked up, …
  Gpus,     // the GPUs of the attempt: their MPS daemon does not start, …
  Machine,  // every job: no process, descriptor or disk space is left, …
};

struct RunExit {
  RunEnd end = RunEnd::Succeeded;
  std::optional<int> code{};
  std::optional<int> signal{};
  std::string detail{};  // the line of its output that says why, or the error
  // Out of memory: the allocation that failed and the memory held then, where the message says so.
  std::optional<std::uint64_t> wanted_bytes{};
  std::optional<std::uint64_t> held_bytes{};
  // MachineTrouble; and Lost, where the machine went down.
  std::optional<TroubleScope> scope{};
  bool culprit = false;  // MpsFault: this job caused it
  double at_s = 0.0;     // when, seconds of the scheduler's clock
};

}  // namespace carpool
