#include "policy/placement_state.hpp"

#include <algorithm>

#include "policy/carpool_constants.hpp"

namespace carpool::policy {
namespace {

bool may_share(const QueuedJob& job) {
  return job.gpus == 1 && !job.exclusive;
}

}  // namespace

void Slot::let_stand_still(std::size_t resident, bool paused) {
  if (still.empty()) {
    for (const Resident& one : view->residents) {
      still.push_back(one.phase == ResidentPhase::Paused);
    }
  }
  still[resident] = paused;
}

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
                             : settings.max_per_gpu),
      processors_idle_(cluster.processors_idle.value_or(0.0) >= kIdleEnough),
      now_s_(cluster.now_s) {
  slots_.reserve(cluster.gpus.size());
  for (const GpuView& view : cluster.gpus) {
    add_slot(view);
  }
  const std::size_t looked = std::min(cluster.queue.size(), settings.depth);
  queue_.reserve(looked);
  for (std::size_t i = 0; i < looked; ++i) {
    const QueuedJob& job = *cluster.queue[i];
    PendingJob candidate{
        .job = &job, .workload = number_of(job.workload), .filter = number_of(job.gpu_filter)};
    candidate.form = form_of(candidate);
    candidate.need_known = job.need_bytes.has_value();
    if (candidate.need_known) {
      candidate.need_bytes = *job.need_bytes + settings.memory_margin_bytes;
    } else if (settings.memory_floor_bytes) {
      candidate.need_bytes = *settings.memory_floor_bytes;
    }
    unknown_left_ += !candidate.need_known && may_share(job) ? 1 : 0;
    queue_.push_back(candidate);
  }
  lone_ = cluster.queue.size() == 1 && cluster.queue.front()->waited_s >= kBurstS;
}

std::uint32_t PlacementState::number_of(const std::string& workload) {
  const auto [found, added] =
      numbers_.try_emplace(workload, static_cast<std::uint32_t>(workloads_.size()));
  if (added) {
    workloads_.push_back(workload);
  }
  return found->second;
}

std::uint32_t PlacementState::number_of(const GpuFilter& filter) {
  if (filter.takes_all()) {
    return 0;
  }
  return filters_.try_emplace(filter, static_cast<std::uint32_t>(filters_.size() + 1))
      .first->second;
}

std::uint32_t PlacementState::form_of(const PendingJob& job) {
  return forms_
      .try_emplace({job.workload, job.job->job_class, job.job->goal, job.job->gating},
                   static_cast<std::uint32_t>(forms_.size()))
      .first->second;
}

// By name once a decision, then by number.
std::uint32_t PlacementState::number_of(const Resident& resident) {
  constexpr std::uint32_t kNotYet = ~std::uint32_t{0};
  if (resident.workload_number == 0) {
    return number_of(resident.workload);
  }
  if (resident.workload_number >= resident_numbers_.size()) {
    resident_numbers_.resize(resident.workload_number + std::size_t{1}, kNotYet);
  }
  std::uint32_t& number = resident_numbers_[resident.workload_number];
  if (number == kNotYet) {
    number = number_of(resident.workload);
  }
  return number;
}

ActiveMember PlacementState::member(const Resident& resident) {
  return {.workload = number_of(resident),
          .slo = resident.job_class == JobClass::Slo,
          .gating = resident.gating,
          .mps = resident.mechanism == ShareMechanism::Mps,
          .goal = resident.goal,
          .job = resident.job};
}

ActiveMember PlacementState::member(const PendingJob& job, const Slot& slot) const {
  return {.workload = job.workload,
          .slo = job.job->job_class == JobClass::Slo,
          .gating = job.job->gating,
          .mps = mechanism(job, slot) == ShareMechanism::Mps,
          .goal = job.job->goal,
          .job = job.job->job};
}

std::vector<ActiveMember> PlacementState::group(const Slot& slot) {
  std::vector<ActiveMember> group;
  group.reserve(slot.members() + 1);
  for (std::size_t i = 0; i < slot.view->residents.size(); ++i) {
    const Resident& resident = slot.view->residents[i];
    if (!slot.stands_still(i)) {
      group.push_back(member(resident));
    }
  }
  for (const PendingJob& job : slot.added) {
    group.push_back(member(job, slot));
  }
  if (slot.view->foreign) {
    group.push_back({.workload = number_of("")});
  }
  return group;
}

void PlacementState::count_start(const Resident& resident) {
  const bool seen = resident.phase == ResidentPhase::Computing && resident.pauses == 0;
  const double left_s =
      seen ? kSetUpS - resident.computed_s : resident.phase_since_s + kStartUpS - now_s_;
  if ((seen || resident.phase == ResidentPhase::Starting) && left_s > kMoment) {
    ++starting_;
    first_started_s_ = std::min(first_started_s_, left_s);
    last_start_s_ = std::min(last_start_s_, now_s_ - resident.started_s);
  }
}

void PlacementState::add_slot(const GpuView& view) {
  Slot slot{.view = &view, .free_bytes = view.free_bytes()};
  for (const Resident& resident : view.residents) {
    count_start(resident);
    slot.one_user = slot.one_user && resident.uid == view.residents.front().uid;
    slot.slo = slot.slo || resident.job_class == JobClass::Slo;
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
  usable_ += slot.usable() ? 1 : 0;
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
  return settings_.use_mps && slot.view->shares_by_mps(job.job->job_class)
             ? ShareMechanism::Mps
             : ShareMechanism::TimeSlicing;
}

bool PlacementState::users_agree(const PendingJob& job, const Slot& slot) const {
  const bool no_member = slot.view->residents.empty() && slot.added.empty();
  const bool one_user_only = slot.slo || job.job->job_class == JobClass::Slo ||
                             mechanism(job, slot) == ShareMechanism::Mps;
  return no_member || (slot.one_user && slot.uid == job.job->uid) || !one_user_only;
}

bool PlacementState::free_for_one(const PendingJob& job, const Slot& slot) const {
  // The margin is for neighbours, and there are none.
  const std::uint64_t need = job.job->need_bytes.value_or(0);
  return slot.usable() && slot.empty() && !slot.closed && slot.settled && slot.free_bytes >= need &&
         wanted(job, slot);
}

bool PlacementState::all_start() const {
  if (settings_.max_starting == 0 || starting_ < settings_.max_starting) {
    return false;
  }
  return !processors_idle_ || last_start_s_ + kMoment < kStartApartS ||
         starting_ >= kMostStarting * settings_.max_starting;
}

std::uint64_t PlacementState::least_claim(const Slot& slot) {
  return slot.view->memory_bytes / kLeastClaimParts;
}

void PlacementState::considered(const PendingJob& job) {
  unknown_left_ -= !job.need_known && may_share(*job.job) ? 1 : 0;
}

std::optional<MemoryClaim> PlacementState::claim(const PendingJob& job, const Slot& slot) const {
  if (slot.empty() ? !free_for_one(job, slot) : !fits(job, slot) || !wanted(job, slot)) {
    return std::nullopt;
  }
  if (!job.need_known && settings_.use_caps) {
    return claim_unknown(job, slot);
  }
  if (!job.need_known && !slot.empty()) {
    return settings_.memory_floor_bytes ? std::optional(MemoryClaim{}) : std::nullopt;
  }
  MemoryClaim claim;
  if (settings_.reserve) {
    claim.reserve_bytes = job.job->need_bytes.value_or(slot.view->memory_bytes);
  }
  if (settings_.use_caps && claim.reserve_bytes > 0 && has_caps(mechanism(job, slot))) {
    claim.cap_bytes = claim.reserve_bytes;
  }
  return claim;
}

std::optional<MemoryClaim> PlacementState::claim_unknown(const PendingJob& job,
                                                         const Slot& slot) const {
  const std::uint64_t free =
      slot.free_bytes - std::min(slot.free_bytes, settings_.memory_margin_bytes);
  switch (mechanism(job, slot)) {
    case ShareMechanism::None:
      return MemoryClaim{.reserve_bytes = slot.view->memory_bytes};
    case ShareMechanism::TimeSlicing:
      if (has_caps(ShareMechanism::TimeSlicing)) {
        break;
      }
      // Nothing keeps it from taking all.
      if (slot.empty()) {
        return MemoryClaim{.reserve_bytes = slot.view->memory_bytes};
      }
      return free >= slot.view->memory_bytes / 2 ? std::optional(MemoryClaim{.reserve_bytes = free})
                                                 : std::nullopt;
    case ShareMechanism::Mps:
      break;
  }
  const std::uint64_t least = least_claim(slot);
  if (free < least) {
    return std::nullopt;
  }
  const std::uint64_t jobs = (unknown_left_ + usable_ - 1) / std::max<std::size_t>(usable_, 1);
  std::uint64_t part = std::max(free / std::max(jobs, kLeastParts), std::min(free / 2, kUsualNeed));
  const std::uint64_t lent = slot.empty() ? 0 : slot.view->memory_bytes / kLentParts;
  part = std::max(lone_ ? free - std::min(free, lent) : part, least);
  return MemoryClaim{.reserve_bytes = part, .cap_bytes = part};
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

void PlacementState::put(PendingJob job,
                         Slot& slot,
                         ShareMechanism mechanism,
                         const MemoryClaim& claim) {
  empty_ -= slot.empty() ? 1 : 0;
  ++starting_;
  first_started_s_ = std::min(first_started_s_, kStartUpS);
  last_start_s_ = 0.0;
  const bool no_member = slot.view->residents.empty() && slot.added.empty();
  slot.one_user = no_member || (slot.one_user && slot.uid == job.job->uid);
  slot.uid = job.job->uid;
  slot.slo = slot.slo || job.job->job_class == JobClass::Slo;
  // Without a cap, a job whose need is unknown may take all.
  const std::uint64_t known = job.need_known ? job.need_bytes : slot.free_bytes;
  slot.free_bytes -= std::min(slot.free_bytes, claim.cap_bytes.value_or(known));
  slot.closed = slot.closed || mechanism == ShareMechanism::None;
  slot.added.push_back(job);
}

}  // namespace carpool::policy
