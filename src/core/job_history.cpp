#include "core/job_history.hpp"

#include <algorithm>

namespace carpool {
namespace {

// The same command takes a little more or less from run to run: workspaces of libraries, the order
// of batches. What did not finish may not have reached its peak.
constexpr double kRoomFinished = 1.03;
constexpr double kRoomSeen = 1.10;
constexpr std::uint64_t kRoomBytes = std::uint64_t{256} << 20U;
// A run that had too little memory says only that more is needed.
constexpr double kRoomTooLittle = 2.0;
// A run that failed sooner than this, in seconds, may have failed before it used the GPU.
constexpr double kShortestSeen = 30.0;

std::uint64_t with_room(std::uint64_t peak, double factor) {
  return static_cast<std::uint64_t>(static_cast<double>(peak) * factor) + kRoomBytes;
}

bool had_too_little(RunEnd end) {
  return end == RunEnd::OverCap || end == RunEnd::OutOfMemory;
}

void raise(std::optional<PastNeed>& need, const PastNeed& other) {
  if (!need || other.bytes > need->bytes) {
    need = other;
  }
}

}  // namespace

const JobHistory::Workload* JobHistory::find(std::uint32_t uid, const std::string& key) const {
  const auto user = users_.find(uid);
  if (user == users_.end()) {
    return nullptr;
  }
  const auto workload = user->second.workloads.find(key);
  return workload == user->second.workloads.end() ? nullptr : &workload->second;
}

void JobHistory::learn(std::uint32_t uid, const std::string& key, const PastRun& run) {
  const bool finished = run.end == RunEnd::Succeeded;
  const bool told_peak =
      run.peak_bytes && (finished || had_too_little(run.end) || run.run_s >= kShortestSeen);
  if (!finished && !told_peak) {
    return;
  }
  User& user = users_[uid];
  Workload& workload = user.workloads[key];
  if (finished) {
    const double solo_s = run.run_s * run.progress;
    if (workload.runtimes.size() == 0) {
      user.first_runtimes.add(solo_s);
      first_runtimes_.add(solo_s);
    }
    workload.runtimes.add(solo_s);
  }
  if (told_peak && finished) {
    workload.peaks.add(*run.peak_bytes);
  } else if (told_peak) {
    workload.unfinished.add({.peak_bytes = *run.peak_bytes,
                             .too_little = had_too_little(run.end),
                             .finished_before = workload.peaks.seen});
  }
}

std::optional<PastNeed> JobHistory::need(std::uint32_t uid, const std::string& key) const {
  const Workload* found = find(uid, key);
  if (found == nullptr) {
    return std::nullopt;
  }
  std::optional<PastNeed> need;
  const auto& peaks = found->peaks;
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    raise(need,
          {.bytes = with_room(peaks.values[i], kRoomFinished),
           .peak_bytes = peaks.values[i],
           .finished = true});
  }
  const bool any_finished = need.has_value();
  for (std::size_t i = 0; i < found->unfinished.size(); ++i) {
    const Unfinished& run = found->unfinished.values[i];
    if (peaks.seen - run.finished_before >= kRemembered) {
      continue;  // the program has changed, or its input
    }
    const bool blind = run.too_little && !any_finished;
    raise(need,
          {.bytes = with_room(run.peak_bytes, blind ? kRoomTooLittle : kRoomSeen),
           .peak_bytes = run.peak_bytes});
  }
  return need;
}

template <std::size_t Most>
std::optional<double> JobHistory::median(Last<double, Most> values) {
  if (values.size() == 0) {
    return std::nullopt;
  }
  const auto middle = values.values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  const auto end = values.values.begin() + static_cast<std::ptrdiff_t>(values.size());
  std::nth_element(values.values.begin(), middle, end);
  return *middle;
}

std::optional<double> JobHistory::runtime_s(std::uint32_t uid, const std::string& key) const {
  const Workload* found = find(uid, key);
  return found == nullptr ? std::nullopt : median(found->runtimes);
}

std::optional<double> JobHistory::usual_runtime_s(std::uint32_t uid) const {
  const auto user = users_.find(uid);
  const auto own = user == users_.end() ? std::nullopt : median(user->second.first_runtimes);
  return own ? own : median(first_runtimes_);
}

}  // namespace carpool
