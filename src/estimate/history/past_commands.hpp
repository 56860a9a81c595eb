// Memory of a command from earlier runs: those of the same command, and those that differ only in
// the batch size. The caller supplies the runs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/memory_estimate.hpp"
#include "estimate/history/measured_history.hpp"

namespace carpool::estimate {

// A job that has ended.
struct PastCommand {
  std::int64_t job = 0;  // higher: later
  std::vector<std::string> argv{};
  std::string folder{};  // where it ran
  std::int64_t gpus = 1;
  double ended_s = 0.0;  // Unix time
  double run_s = 0.0;
  std::optional<std::int64_t> peak_bytes{};  // on one GPU, of an attempt that succeeded
  // Of attempts that did not (out of memory, cancelled, …): a lower bound of the peak.
  std::optional<std::int64_t> failed_peak_bytes{};
};

struct HistoryRequest {
  std::vector<std::string> argv{};
  std::string folder{};  // in another folder the same words may run another program
  std::int64_t gpus = 1;
  std::optional<std::int64_t> batch{};  // overrides that of the command
};

// A run of the requested command, at the same or another batch size.
struct SimilarRun {
  std::int64_t job = 0;
  std::optional<std::int64_t> batch{};  // nullopt: the command has no flag for it
  double ended_s = 0.0;
  double run_s = 0.0;
  std::optional<std::int64_t> peak_bytes{};
  std::optional<std::int64_t> failed_peak_bytes{};
};

struct SimilarRuns {
  std::optional<std::int64_t> batch{};  // requested; nullopt: the command has no flag for it
  std::vector<SimilarRun> runs{};       // newest first; the last few of each batch size

  [[nodiscard]] std::vector<BatchPeak> peaks() const;  // of successful runs, by batch size
};

// Empty where the request overrides the batch and the command has no flag for it.
[[nodiscard]] SimilarRuns similar_runs(const HistoryRequest& request,
                                       std::span<const PastCommand> past);

struct PastEstimate {
  MemoryEstimate estimate{};
  std::vector<SimilarRun> from{};  // newest first
};

// From runs at the same batch size, else from a line through other batch sizes. NotFound without
// enough runs, Unsupported where a failed run used more than the estimate allows.
[[nodiscard]] Result<PastEstimate> estimate_from_runs(const SimilarRuns& similar);

// From a line through runs at two or more batch sizes; NotFound without. Nothing: one sample does
// not fit.
[[nodiscard]] Result<std::optional<std::int64_t>> largest_batch(const SimilarRuns& similar,
                                                                std::int64_t bytes);
// The effect of half the batch size, where runs determine it.
[[nodiscard]] std::vector<MemoryLever> levers(const SimilarRuns& similar);

// "job 17", "jobs 17, 15 and 12".
[[nodiscard]] std::string job_list_text(std::span<const SimilarRun> runs);

}  // namespace carpool::estimate
