#include "core/job_history.hpp"

#include <algorithm>

namespace carpool {
namespace {

// The same command takes a little more or less from run to run: workspaces of libraries, the order
// of batches.
constexpr double kRoom = 1.05;

}  // namespace

const JobHistory::Workload* JobHistory::find(std::uint32_t uid, const std::string& key) const {
  const auto user = users_.find(uid);
  if (user == users_.end()) {
    return nullptr;
  }
  const auto workload = user->second.find(key);
  return workload == user->second.end() ? nullptr : &workload->second;
}

void JobHistory::learn(std::uint32_t uid, const std::string& key, const PastRun& run) {
  if (!run.peak_bytes && run.end != RunEnd::Succeeded) {
    return;
  }
  Workload& workload = users_[uid][key];
  if (run.peak_bytes) {
    workload.peaks.add(*run.peak_bytes);
  }
  if (run.end == RunEnd::Succeeded) {
    workload.runtimes.add(run.run_s * run.progress);
  }
}

std::optional<std::uint64_t> JobHistory::need_bytes(std::uint32_t uid,
                                                    const std::string& key) const {
  const Workload* found = find(uid, key);
  if (found == nullptr || found->peaks.size() == 0) {
    return std::nullopt;
  }
  const auto& peaks = found->peaks;
  const auto end = peaks.values.begin() + static_cast<std::ptrdiff_t>(peaks.size());
  const auto highest = static_cast<double>(*std::max_element(peaks.values.begin(), end));
  return static_cast<std::uint64_t>(highest * kRoom);
}

std::optional<double> JobHistory::runtime_s(std::uint32_t uid, const std::string& key) const {
  const Workload* found = find(uid, key);
  if (found == nullptr || found->runtimes.size() == 0) {
    return std::nullopt;
  }
  auto runtimes = found->runtimes;
  const auto middle = runtimes.values.begin() + static_cast<std::ptrdiff_t>(runtimes.size() / 2);
  const auto end = runtimes.values.begin() + static_cast<std::ptrdiff_t>(runtimes.size());
  std::nth_element(runtimes.values.begin(), middle, end);
  return *middle;
}

}  // namespace carpool
