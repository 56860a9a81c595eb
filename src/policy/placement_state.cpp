#include "policy/placement_state.hpp"

#include <algorithm>

namespace carpool::policy {
namespace {

// Times are sums of seconds: a time this near counts as reached.
constexpr double kMoment = 1e-3;

}  // namespace

double Slot::empty_after_s() const {
  double after = view->empty_after_s();
  for (const PendingJob& job : added) {
    after = std::max(after, job.job->runtime_s.value_or(kNoTime));
  }
  return after;
}

double Slot::fits_after_s(std::uint64_t need_bytes) const {
  std::uint64_t free = free_bytes;
  std::vector<std::pair<double, std::uint64_t>> ends;
  ends.reserve(view->residents.size());
  for (const Resident& resident : view->residents) {
    ends.emplace_back(resident.remaining_s.value_or(kNoTime),
                      std::max(resident.reserved_bytes, resident.used_bytes));
  }
  std::ranges::sort(ends);
  for (const auto& [after, bytes] : ends) {
    free += bytes;
    if (free >= need_bytes) {
      return after;
    }
  }
  return empty_after_s();
}

PlacementState::PlacementState(const ClusterSnapshot& cluster, const PolicySettings& settings)
    : settings_(settings),
      most_(settings.use_mps ? std::min<std::size_t>(settings.max_per_gpu, kMostMpsClients)
                             : settings.max_per_gpu) {
  slots_.reserve(cluster.gpus.size());
  for (const GpuView& view : cluster.gpus) {
    add_slot(view);
  }
  const std::size_t looked = std::min(cluster.queue.size(), settings.depth);
  queue_.reserve(looked);
  for (std::size_t i = 0; i < looked; ++i) {
    const QueuedJob& job = *cluster.queue[i];
    PendingJob candidate{.job = &job, .workload = number_of(job.workload)};
    candidate.need_known = job.need_bytes.has_value();
    if (candidate.need_known) {
      candidate.need_bytes = *job.need_bytes + settings.memory_margin_bytes;
    } else if (settings.memory_floor_bytes) {
      candidate.need_bytes = *settings.memory_floor_bytes;
    }
    queue_.push_back(candidate);
  }
}

std::uint32_t PlacementState::number_of(const std::string& workload) {
  const auto [found, added] =
      numbers_.try_emplace(workload, static_cast<std::uint32_t>(workloads_.size()));
  if (added) {
    workloads_.push_back(workload);
  }
  return found->second;
}

std::vector<std::uint32_t> PlacementState::group(const Slot& slot) {
  std::vector<std::uint32_t> group;
  group.reserve(slot.members() + 1);
  for (const Resident& resident : slot.view->residents) {
    group.push_back(number_of(resident.workload));
  }
  for (const PendingJob& job : slot.added) {
    group.push_back(job.workload);
  }
  if (slot.view->foreign) {
    group.push_back(number_of(""));
  }
  return group;
}

void PlacementState::add_slot(const GpuView& view) {
  Slot slot{.view = &view, .free_bytes = view.free_bytes()};
  for (const Resident& resident : view.residents) {
    slot.one_user = slot.one_user && resident.uid == view.residents.front().uid;
    slot.closed = slot.closed || resident.exclusive || resident.mechanism == ShareMechanism::None ||
                  (resident.several_gpus && !settings_.share_several);
  }
  slot.uid = view.residents.empty() ? 0 : view.residents.front().uid;
  if (settings_.settle_s > 0.0) {
    const double left = settings_.settle_s - view.since_seen_busy_s;
    slot.settled = view.last_seen_busy && left < kMoment;
    if (!slot.settled && view.last_seen_busy) {
      next_settled_s_ = std::min(next_settled_s_.value_or(left), left);
    }
  }
  empty_ += slot.usable() && slot.empty() ? 1 : 0;
  if (has_room(slot)) {
    open_.push_back(slots_.size());
  }
  slots_.push_back(std::move(slot));
}

ShareMechanism PlacementState::mechanism(const PendingJob& job, const Slot& slot) const {
  if (job.job->exclusive) {
    return ShareMechanism::None;
  }
  if (job.job->gpus > 1) {
    return settings_.share_several ? ShareMechanism::TimeSlicing : ShareMechanism::None;
  }
  return settings_.use_mps && slot.view->mps_possible ? ShareMechanism::Mps
                                                      : ShareMechanism::TimeSlicing;
}

bool PlacementState::users_agree(const PendingJob& job, const Slot& slot) const {
  const bool no_member = slot.view->residents.empty() && slot.added.empty();
  return no_member || (slot.one_user && slot.uid == job.job->uid) ||
         mechanism(job, slot) != ShareMechanism::Mps;
}

bool PlacementState::free_for_one(const PendingJob& job, const Slot& slot) const {
  // The margin is for neighbours, and there are none.
  const std::uint64_t need = job.job->need_bytes.value_or(0);
  return slot.usable() && slot.empty() && !slot.closed && slot.settled && slot.free_bytes >= need;
}

bool PlacementState::precondition(const Slot& slot) const {
  if (!slot.settled || (settings_.settle_s > 0.0 && !slot.added.empty())) {
    return false;
  }
  const GpuPressure pressure = slot.view->pressure.value_or(GpuPressure{});
  if (!settings_.sm_active_limit || pressure.sm_active < *settings_.sm_active_limit) {
    return true;
  }
  const auto over = [](double value, const std::optional<double>& limit) {
    return limit && value >= *limit;
  };
  const bool limited = settings_.sm_occupancy_limit || settings_.dram_active_limit;
  return limited && !over(pressure.sm_occupancy, settings_.sm_occupancy_limit) &&
         !over(pressure.dram_active, settings_.dram_active_limit);
}

void PlacementState::put(PendingJob job, Slot& slot, ShareMechanism mechanism) {
  empty_ -= slot.empty() ? 1 : 0;
  const bool no_member = slot.view->residents.empty() && slot.added.empty();
  slot.one_user = no_member || (slot.one_user && slot.uid == job.job->uid);
  slot.uid = job.job->uid;
  // A job whose need is unknown may take all.
  slot.free_bytes -= std::min(slot.free_bytes, job.need_known ? job.need_bytes : slot.free_bytes);
  slot.closed = slot.closed || mechanism == ShareMechanism::None;
  slot.added.push_back(job);
}

}  // namespace carpool::policy
