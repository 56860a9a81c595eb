#include "knowledge/beliefs.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "base/text/utf8.hpp"
#include "core/workload_identity.hpp"
#include "knowledge/activity_learning.hpp"
#include "knowledge/belief_rows.hpp"
#include "knowledge/beliefs_bound.hpp"
#include "knowledge/beliefs_file.hpp"
#include "knowledge/group_forecast.hpp"
#include "knowledge/latency/latency_forecast.hpp"
#include "knowledge/latency/latency_learning.hpp"
#include "knowledge/run_learning.hpp"
#include "knowledge/speed_learning.hpp"
#include "knowledge/window_learning.hpp"

namespace carpool::knowledge {
namespace {

constexpr std::size_t kMostMembers = 64;
constexpr std::size_t kLongestName = 1024;

bool unlimited_threads(double thread_limit) {
  return thread_limit >= kAllThreads;
}

// A group as the law reads it. The members of workloads never seen are kept here.
class NamedGroup {
 public:
  NamedGroup(const BeliefStore& store, std::span<const InterferenceMember> group) {
    assumed_.reserve(group.size());
    for (const InterferenceMember& member : group) {
      const std::uint32_t slot = store.find(member.workload);
      if (slot == kNone) {
        assumed_.push_back(store.assumed(member.workload));
      }
      members_.push_back(slot == kNone ? &assumed_.back() : &store.workloads()[slot].member);
    }
    prior_ = prior_progress(store, group);
    unlimited_ = std::ranges::all_of(group, unlimited_threads, &InterferenceMember::thread_limit);
  }

  [[nodiscard]] LawGroup members() const { return members_; }
  [[nodiscard]] std::span<const double> prior() const { return prior_; }
  [[nodiscard]] bool unlimited() const { return unlimited_; }

 private:
  std::vector<LawMember> assumed_;
  std::vector<const LawMember*> members_;
  std::vector<double> prior_;
  bool unlimited_ = true;
};

bool usable_name(const std::string& workload) {
  return !workload.empty() && workload.size() <= kLongestName && is_utf8(workload);
}

std::string_view user_of(std::string_view workload) {
  return workload.substr(0, workload.size() - workload_name(workload).size());
}

// Groups with jobs of several users, processes of others or thread limits teach nothing.
bool teaches(const GroupSeen& seen) {
  if (seen.foreign || seen.computing.empty() || seen.computing.size() > kMostMembers ||
      !std::isfinite(seen.at_s) || !(seen.unchanged_s >= 0.0)) {
    return false;
  }
  const std::string_view user = user_of(seen.computing.front().workload);
  return std::ranges::all_of(seen.computing, [&](const GroupSeen::Member& member) {
    return usable_name(member.workload) && user_of(member.workload) == user &&
           unlimited_threads(member.thread_limit) && std::isfinite(member.computed_s);
  });
}

Coverage sum_of(const BeliefStore& store, Coverage UserBelief::* part) {
  Coverage sum;
  for (const UserBelief& user : store.users()) {
    sum.inside += (user.*part).inside;
    sum.all += (user.*part).all;
  }
  return sum;
}

}  // namespace

Beliefs::Beliefs(const BeliefSettings& settings, std::unique_ptr<InterferenceModel> prior)
    : prior_(std::move(prior)), store_(settings, prior_.get()) {}

Result<std::unique_ptr<Beliefs>> Beliefs::open(const std::filesystem::path& file,
                                               const BeliefSettings& settings,
                                               std::unique_ptr<InterferenceModel> prior) {
  auto made = std::make_unique<Beliefs>(settings, std::move(prior));
  if (auto read = read_beliefs(file, made->store_); !read) {
    return tl::unexpected(read.error());
  }
  return made;
}

Result<void> Beliefs::save(const std::filesystem::path& file) const {
  std::string content;
  {
    const std::shared_lock lock(mutex_);
    content = beliefs_text(store_);
  }
  return write_beliefs(file, content);
}

std::vector<double> Beliefs::progress(std::span<const InterferenceMember> group) const {
  const std::shared_lock lock(mutex_);
  const NamedGroup named(store_, group);
  std::vector<double> out(group.size(), 1.0);
  law_progress(store_, named.members(), named.prior(), out);
  if (named.unlimited()) {
    GroupMemory::Key key;
    remembered_progress(store_, named.members(), key, out);
  }
  return out;
}

std::vector<ProgressForecast> Beliefs::forecast(std::span<const InterferenceMember> group) const {
  const std::shared_lock lock(mutex_);
  const NamedGroup named(store_, group);
  return group_forecast(store_, named.members(), named.prior(), named.unlimited());
}

std::optional<double> Beliefs::sm_active(const std::string& workload) const {
  const std::shared_lock lock(mutex_);
  const std::uint32_t slot = store_.find(workload);
  if (slot != kNone &&
      (store_.workloads()[slot].measured_s > 0.0 || store_.workloads()[slot].window)) {
    return store_.workloads()[slot].activity.mean;
  }
  return prior_ == nullptr ? std::nullopt : prior_->sm_active(workload);
}

std::optional<WorkloadBelief> Beliefs::belief(const std::string& workload) const {
  const std::shared_lock lock(mutex_);
  if (const std::uint32_t slot = store_.find(workload); slot != kNone) {
    return belief_of(store_, store_.workloads()[slot]);
  }
  const double assumed = store_.assumed(workload).activity;
  return WorkloadBelief{.sm_active = assumed, .assumed_sm_active = assumed};
}

std::optional<LatencyForecast> Beliefs::latency(const LatencyQuestion& question) const {
  const std::shared_lock lock(mutex_);
  return latency_forecast(store_, question);
}

std::optional<WatchedLatency> Beliefs::watched_latency(JobId job) const {
  const std::shared_lock lock(mutex_);
  const LiveGroup* group = live_.group_of(job);
  if (group == nullptr || group->epoch != store_.epoch()) {
    return std::nullopt;
  }
  WatchedLatency out;
  bool serves = false;
  for (const LiveMember& member : group->members) {
    if (member.job != job) {
      out.beside.push_back(store_.workloads()[member.slot].name);
      continue;
    }
    serves = member.latency.begun || member.latency.predicted;
    out.predicted = member.latency.predicted;
    out.requests = member.latency.requests;
    out.p50_ms = member.latency.p50_ms;
    out.tail_ms = member.latency.tail_ms;
  }
  return serves ? std::optional(std::move(out)) : std::nullopt;
}

bool Beliefs::knows(const std::string& workload) const {
  return sm_active(workload).has_value();
}

bool Beliefs::knows_limits() const {
  return prior_ != nullptr && prior_->knows_limits();
}

std::unique_ptr<BoundInterference> Beliefs::bind(std::span<const std::string> workloads) const {
  return std::make_unique<BoundBeliefs>(store_, mutex_, workloads);
}

double Beliefs::assumed_sm_active(const std::string& workload) const {
  const std::shared_lock lock(mutex_);
  return store_.assumed(workload).activity;
}

void Beliefs::saw(const GroupSeen& seen) {
  const std::unique_lock lock(mutex_);
  if (!teaches(seen)) {
    live_.forget(seen.gpu);
    return;
  }
  store_.set_now(seen.at_s);
  for (const GroupSeen::Member& member : seen.computing) {
    WorkloadState& workload = store_.workloads()[store_.find_or_add(member.workload, seen.at_s)];
    workload.seen_at_s = std::max(workload.seen_at_s, seen.at_s);
  }
  store_.make_room();
  store_.changed();
  std::vector<std::uint32_t> slots;
  for (const GroupSeen::Member& member : seen.computing) {
    slots.push_back(store_.find(member.workload));
    if (slots.back() == kNone) {
      live_.forget(seen.gpu);
      return;
    }
  }
  LiveGroup& group = live_.follow(store_, seen, slots);
  learn_windows(store_, group, seen);
  learn_activity(store_, group, seen);
  learn_speeds(store_, group, seen);
  learn_latencies(store_, group, seen);
}

void Beliefs::ended(const RunSeen& run) {
  if (!usable_name(run.workload) || !std::isfinite(run.at_s)) {
    return;
  }
  const std::unique_lock lock(mutex_);
  learn_run(store_, run);
  store_.changed();
}

std::vector<Beliefs::Row> Beliefs::rows() const {
  const std::shared_lock lock(mutex_);
  return belief_rows(store_);
}

Coverage Beliefs::coverage() const {
  const std::shared_lock lock(mutex_);
  return sum_of(store_, &UserBelief::coverage);
}

Coverage Beliefs::latency_coverage() const {
  const std::shared_lock lock(mutex_);
  return sum_of(store_, &UserBelief::latency_coverage);
}

}  // namespace carpool::knowledge
