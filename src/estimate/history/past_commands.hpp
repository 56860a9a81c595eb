// Memory of a command from earlier runs of it: which of them were the same command, which differed
// in their batch alone, and what they tell. Whoever asks brings the runs.
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
  double ended_s = 0.0;  // since 1970
  double run_s = 0.0;
  std::optional<std::int64_t> peak_bytes{};  // on one GPU, of an attempt that ended well
  // Of attempts that did not: out of memory, cancelled, … No peak, but it needs that much at least.
  std::optional<std::int64_t> failed_peak_bytes{};
};

struct HistoryRequest {
  std::vector<std::string> argv{};
  std::string folder{};  // the same words in another folder may be another program
  std::int64_t gpus = 1;
  std::optional<std::int64_t> batch{};  // in the place of the one that the command says
};

// A run that is like the command in question but for its batch.
struct SimilarRun {
  std::int64_t job = 0;
  std::optional<std::int64_t> batch{};  // absent: the command has no flag for it
  double ended_s = 0.0;
  double run_s = 0.0;
  std::optional<std::int64_t> peak_bytes{};
  std::optional<std::int64_t> failed_peak_bytes{};
};

struct SimilarRuns {
  std::optional<std::int64_t> batch{};  // that is asked for; absent: the command has no flag for it
  std::vector<SimilarRun> runs{};       // newest first; the last few at each batch

  [[nodiscard]] std::vector<BatchPeak> peaks() const;  // by batch sizes; those that ended well
};

// None where the question has another batch and the command no flag for it.
[[nodiscard]] SimilarRuns similar_runs(const HistoryRequest& request,
                                       std::span<const PastCommand> past);

struct PastEstimate {
  MemoryEstimate estimate{};
  std::vector<SimilarRun> from{};  // newest first
};

// From runs at the same batch, else from a line through other batch sizes. NotFound where there
// are too few, Unsupported where one that failed took more than they let expect.
[[nodiscard]] Result<PastEstimate> estimate_from_runs(const SimilarRuns& similar);

// From a line through runs at two batch sizes or more; NotFound without. None: not even one sample
// fits.
[[nodiscard]] Result<std::optional<std::int64_t>> largest_batch(const SimilarRuns& similar,
                                                                std::int64_t bytes);
// What half the batch would change, where runs tell.
[[nodiscard]] std::vector<MemoryLever> levers(const SimilarRuns& similar);

// "job 17", "jobs 17, 15 and 12".
[[nodiscard]] std::string job_list_text(std::span<const SimilarRun> runs);

}  // namespace carpool::estimate
