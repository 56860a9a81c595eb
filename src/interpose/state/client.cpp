#include "interpose/state/client.hpp"

#include <algorithm>
#include <cstddef>
#include <unistd.h>

#include "interpose/guard/checked_word.hpp"
#include "interpose/state/process_facts.hpp"
#include "interpose/state/tables.hpp"

namespace carpool::interpose {
namespace {

// Jobs without a number of their own, by slot.
constexpr std::uint64_t kOwnJob = std::uint64_t{1} << 63U;

void describe_process(ClientSlot& slot, const Membership& membership, std::uint64_t job) {
  slot.pid.store(static_cast<std::uint64_t>(::getpid()), std::memory_order_relaxed);
  slot.pid_namespace.store(own_pid_namespace(), std::memory_order_relaxed);
  slot.start_ticks.store(start_ticks_of(0), std::memory_order_relaxed);
  slot.job.store(job, std::memory_order_relaxed);
  slot.job_class.store(static_cast<std::uint64_t>(membership.job_class), std::memory_order_relaxed);
  const std::size_t length = std::min(membership.name.size(), slot.name.size() - 1);
  membership.name.copy(slot.name.data(), length);
  slot.name[length] = '\0';
}

}  // namespace

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): written without a state
constinit ClientSlot unshared_slot{};

StateError Client::join(std::string_view folder,
                        std::string_view gpu_uuid,
                        const Membership& membership) {
  leave();
  StateError error = file_.open(folder, gpu_uuid, ::geteuid());
  if (error == StateError::None) {
    error = file_.map();
  }
  if (error == StateError::None) {
    error = take_slot(membership);
  }
  if (error != StateError::None) {
    file_.close();
  }
  return error;
}

StateError Client::take_slot(const Membership& membership) {
  Tables tables;
  if (const StateError error = tables.lock(file_, Tables::kJoinPatienceMs);
      error != StateError::None) {
    return error;
  }
  tables.reclaim_dead();
  tables.drop_unused_jobs();
  const LiveSlots live = tables.live_slots();
  std::uint32_t slot = 0;
  while (slot < kClientSlots && (live.has(slot) || !file_.try_lock(kFirstSlotLockByte + slot))) {
    ++slot;
  }
  if (slot == kClientSlots) {
    return StateError::Full;
  }
  const std::uint64_t job = membership.job != 0 ? membership.job : kOwnJob | (slot + 1);
  std::uint32_t index = tables.find_job(job);
  if (index == kJobSlots) {
    const StateError error = tables.add_job({.job = job,
                                             .job_class = membership.job_class,
                                             .limit_bytes = membership.limit_bytes,
                                             .guarantee_bytes = membership.guarantee_bytes},
                                            index);
    if (error != StateError::None) {
      return error;
    }
  }
  id_ = {.slot = slot, .generation = tables.renew_slot(slot)};
  ClientSlot& own = file_.state()->clients[slot];
  describe_process(own, membership, job);
  own.job_index.store(index);
  job_index_ = index;
  own.joined.store(1);
  tables.set_live(slot, true);
  log_state_.store(Log::None);
  slot_.store(&own);
  joined_.store(true);
  return StateError::None;
}

void Client::leave() {
  if (!joined()) {
    return;
  }
  if (file_.is_open()) {
    Tables tables;
    // Without the lock the slot is freed by the next process that looks.
    if (owns_slot() && tables.lock(file_) == StateError::None) {
      tables.renew_slot(id_.slot);
      tables.set_live(id_.slot, false);
      tables.drop_unused_jobs();
    }
    file_.unlock(kFirstSlotLockByte + id_.slot);
  }
  joined_.store(false);
  slot_.store(&unshared_slot);
  file_.close_descriptor();
}

bool Client::owns_slot() {
  return joined() && static_cast<std::uint16_t>(slot().generation.load()) == id_.generation;
}

void Client::tell_total_memory(std::uint64_t bytes) {
  SharedState* state = shared();
  if (state != nullptr && read_checked(state->gpu.total_bytes, 0) == 0) {
    state->gpu.total_bytes.store(checked_word(bytes));
  }
}

KernelLogRing* Client::log() {
  if ((wanted() & kWantLog) == 0) {
    return nullptr;
  }
  if (log_state_.load(std::memory_order_acquire) == Log::None) {
    prepare_log();
  }
  return log_state_.load(std::memory_order_acquire) == Log::Ready ? &file_.state()->logs[id_.slot]
                                                                  : nullptr;
}

void Client::prepare_log() {
  Log none = Log::None;
  if (!log_state_.compare_exchange_strong(none, Log::InPreparation)) {
    return;  // by another thread; without memory for the ring it stays so
  }
  if (!file_.is_open() || !file_.reserve_log(id_.slot)) {
    return;
  }
  // A reader must not take records of the slot's previous owner for new ones.
  for (LogRecord& record : file_.state()->logs[id_.slot].records) {
    record.sequence.store(0, std::memory_order_relaxed);
  }
  log_state_.store(Log::Ready, std::memory_order_release);
}

std::uint32_t Client::reclaim_dead() {
  Tables tables;
  if (!joined() || !file_.is_open() || tables.lock(file_) != StateError::None) {
    return 0;
  }
  return tables.reclaim_dead();
}

}  // namespace carpool::interpose
