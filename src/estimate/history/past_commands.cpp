#include "estimate/history/past_commands.hpp"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/memory_size.hpp"
#include "estimate/largest_fitting.hpp"
#include "estimate/readers/command_flags.hpp"

namespace carpool::estimate {
namespace {

// Runs per batch size. Programs change under the same command, so that only the latest runs count.
constexpr std::size_t kRemembered = 8;
constexpr std::size_t kMostNamed = 8;
// Seconds. The server reads memory each second, and programs grow during their first steps.
constexpr double kShortRun = 10.0;

std::string_view without_last_slash(std::string_view folder) {
  return folder.size() > 1 && folder.ends_with('/') ? folder.substr(0, folder.size() - 1) : folder;
}

// The batch size in `argv` at this place; nothing: it differs from `wanted` elsewhere.
std::optional<std::int64_t> batch_of_same(const std::vector<std::string>& argv,
                                          const std::vector<std::string>& wanted,
                                          const WordPlace& at) {
  if (argv.size() != wanted.size()) {
    return std::nullopt;
  }
  for (std::size_t word = 0; word < argv.size(); ++word) {
    if (word != at.word && argv[word] != wanted[word]) {
      return std::nullopt;
    }
  }
  const std::string_view word = argv[at.word];
  if (word.size() <= at.offset ||
      word.substr(0, at.offset) != std::string_view(wanted[at.word]).substr(0, at.offset)) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const char* const last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data() + at.offset, last, value);
  return error == std::errc() && end == last ? std::optional(value) : std::nullopt;
}

bool usable(const std::optional<std::int64_t>& batch) {
  return batch && *batch > 0 && *batch <= kMostSamples;
}

// A failed run of no larger batch size that used more than `upper`; nullptr: none.
const SimilarRun* contradiction(const SimilarRuns& similar, std::int64_t upper) {
  const auto found = std::ranges::find_if(similar.runs, [&](const SimilarRun& run) {
    return run.failed_peak_bytes && *run.failed_peak_bytes > upper && run.batch <= similar.batch;
  });
  return found == similar.runs.end() ? nullptr : &*found;
}

void add_notes(PastEstimate& past, bool same_batch) {
  std::set<std::int64_t> batches;
  double last_s = 0.0;
  double longest_s = 0.0;
  for (const SimilarRun& run : past.from) {
    if (run.batch) {
      batches.insert(*run.batch);
    }
    last_s = std::max(last_s, run.ended_s);
    longest_s = std::max(longest_s, run.run_s);
  }
  std::vector<std::string> notes;
  notes.push_back(fmt::format(
      "{} {} of this command{}: {}; the last ended {:%Y-%m-%dT%H:%M:%SZ}",
      past.from.size(),
      past.from.size() == 1 ? "run" : "runs",
      same_batch ? std::string() : fmt::format(" with batch {}", fmt::join(batches, ", ")),
      job_list_text(past.from),
      fmt::gmtime(static_cast<std::time_t>(last_s))));
  if (longest_s < kShortRun) {
    notes.push_back(
        fmt::format("all runs were shorter than {:g} s: memory is read each second, so a short "
                    "peak may be missed",
                    kShortRun));
  }
  auto& into = past.estimate.notes;
  into.insert(into.begin(), notes.begin(), notes.end());
}

}  // namespace

std::vector<BatchPeak> SimilarRuns::peaks() const {
  std::vector<BatchPeak> peaks;
  for (const SimilarRun& run : runs) {
    if (usable(run.batch) && run.peak_bytes) {
      peaks.push_back({.batch = *run.batch, .bytes = *run.peak_bytes});
    }
  }
  std::ranges::sort(peaks, {}, &BatchPeak::batch);
  return peaks;
}

SimilarRuns similar_runs(const HistoryRequest& request, std::span<const PastCommand> past) {
  const CommandFacts facts = read_command(request.argv);
  SimilarRuns similar;
  if (request.argv.empty() || (request.batch && !facts.batch_at)) {
    return similar;
  }
  similar.batch = request.batch ? request.batch : facts.settings.batch;
  const std::string_view folder = without_last_slash(request.folder);
  for (const PastCommand& command : past) {
    if (command.gpus != request.gpus || without_last_slash(command.folder) != folder ||
        (!command.peak_bytes && !command.failed_peak_bytes)) {
      continue;
    }
    std::optional<std::int64_t> batch;
    if (facts.batch_at) {
      batch = batch_of_same(command.argv, request.argv, *facts.batch_at);
    }
    if (facts.batch_at ? batch.has_value() : command.argv == request.argv) {
      similar.runs.push_back({.job = command.job,
                              .batch = batch,
                              .ended_s = command.ended_s,
                              .run_s = command.run_s,
                              .peak_bytes = command.peak_bytes,
                              .failed_peak_bytes = command.failed_peak_bytes});
    }
  }
  std::ranges::sort(similar.runs, std::greater<>(), &SimilarRun::job);
  std::map<std::optional<std::int64_t>, std::size_t> count;
  std::erase_if(similar.runs,
                [&](const SimilarRun& run) { return ++count[run.batch] > kRemembered; });
  return similar;
}

Result<PastEstimate> estimate_from_runs(const SimilarRuns& similar) {
  PastEstimate past;
  std::vector<std::int64_t> same;
  for (const SimilarRun& run : similar.runs) {
    if (run.batch == similar.batch && run.peak_bytes) {
      same.push_back(*run.peak_bytes);
      past.from.push_back(run);
    }
  }
  auto estimate = same.empty() && usable(similar.batch)
                      ? estimate_from_batches(similar.peaks(), *similar.batch)
                      : estimate_from_history(same);
  if (!estimate) {
    return tl::unexpected(estimate.error());
  }
  past.estimate = std::move(*estimate);
  if (const SimilarRun* run = contradiction(similar, past.estimate.upper)) {
    return fail(ErrorCode::Unsupported,
                fmt::format("earlier runs suggest at most {}, but job {} used {} and did not "
                            "succeed",
                            gib_text(static_cast<std::uint64_t>(past.estimate.upper)),
                            run->job,
                            gib_text(static_cast<std::uint64_t>(*run->failed_peak_bytes))));
  }
  if (same.empty()) {
    std::ranges::copy_if(similar.runs, std::back_inserter(past.from), [](const SimilarRun& run) {
      return usable(run.batch) && run.peak_bytes;
    });
  }
  add_notes(past, !same.empty());
  return past;
}

Result<std::optional<std::int64_t>> largest_batch(const SimilarRuns& similar, std::int64_t bytes) {
  std::int64_t below = std::numeric_limits<std::int64_t>::max();
  for (const SimilarRun& run : similar.runs) {
    if (usable(run.batch) && run.failed_peak_bytes && *run.failed_peak_bytes > bytes) {
      below = std::min(below, *run.batch);
    }
  }
  return largest_batch_from_batches(similar.peaks(), bytes, below);
}

std::vector<MemoryLever> levers(const SimilarRuns& similar) {
  const std::vector<BatchPeak> peaks = similar.peaks();
  if (!usable(similar.batch) || *similar.batch < 2) {
    return {};
  }
  const auto now = estimate_from_batches(peaks, *similar.batch);
  const auto then = estimate_from_batches(peaks, *similar.batch / 2);
  if (!now || !then || then->expected >= now->expected) {
    return {};
  }
  return {{.change = fmt::format("batch {} instead of {}", *similar.batch / 2, *similar.batch),
           .expected = then->expected}};
}

std::string job_list_text(std::span<const SimilarRun> runs) {
  std::string text = runs.size() == 1 ? "job " : "jobs ";
  const std::size_t named = std::min(runs.size(), kMostNamed);
  for (std::size_t index = 0; index < named; ++index) {
    const bool ends = index + 1 == runs.size();
    text += fmt::format("{}{}", index == 0 ? "" : ends ? " and " : ", ", runs[index].job);
  }
  return runs.size() > named ? fmt::format("{} and {} more", text, runs.size() - named) : text;
}

}  // namespace carpool::estimate
