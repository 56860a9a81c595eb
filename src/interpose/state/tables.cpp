#include "interpose/state/tables.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "interpose/guard/checked_word.hpp"
#include "interpose/guard/owned_amount.hpp"

namespace carpool::interpose {
namespace {

constexpr std::uint64_t gpu_word(std::size_t member) {
  return offsetof(SharedState, gpu) + member;
}

// Bit `index` of a pair of words.
struct BitPlace {
  std::uint64_t offset;
  std::uint64_t mask;
};
constexpr BitPlace bit_place(std::size_t low, std::size_t high, std::uint32_t index) {
  return {gpu_word(index < 64 ? low : high), std::uint64_t{1} << (index % 64)};
}
constexpr BitPlace slot_bit(std::uint32_t slot) {
  return bit_place(offsetof(GpuBlock, live_slots_low), offsetof(GpuBlock, live_slots_high), slot);
}
constexpr BitPlace job_bit(std::uint32_t index) {
  return bit_place(offsetof(GpuBlock, live_jobs_low), offsetof(GpuBlock, live_jobs_high), index);
}

constexpr std::uint64_t memory_word(std::uint32_t slot, std::size_t member) {
  return slot_offset(slot) + offsetof(ClientSlot, memory) + member;
}

struct flock one_byte(short type, std::uint64_t byte) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(byte);
  lock.l_len = 1;
  return lock;
}

}  // namespace

bool try_lock_byte(int descriptor, std::uint64_t byte) {
  struct flock lock = one_byte(F_WRLCK, byte);
  return ::fcntl(descriptor, F_OFD_SETLK, &lock) == 0;
}

void unlock_byte(int descriptor, std::uint64_t byte) {
  struct flock lock = one_byte(F_UNLCK, byte);
  ::fcntl(descriptor, F_OFD_SETLK, &lock);
}

Tables::~Tables() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

StateError Tables::lock(const StateFile& file, int patience_ms) {
  std::array<char, 48> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", file.descriptor());
  descriptor_ = ::open(path.data(), O_RDWR | O_CLOEXEC);
  if (descriptor_ < 0) {
    return StateError::System;
  }
  for (int attempt = 0; attempt < patience_ms; ++attempt) {
    if (try_lock_byte(descriptor_, kTableLockByte)) {
      return StateError::None;
    }
    ::poll(nullptr, 0, 1);
  }
  ::close(descriptor_);
  descriptor_ = -1;
  return StateError::Busy;
}

std::uint64_t Tables::word(std::uint64_t offset) const {
  std::uint64_t value = 0;
  return ::pread(descriptor_, &value, sizeof value, static_cast<off_t>(offset)) == sizeof value
             ? value
             : 0;
}

void Tables::set_word(std::uint64_t offset, std::uint64_t value) {
  write(offset, &value, sizeof value);
}

void Tables::write(std::uint64_t offset, const void* bytes, std::size_t count) {
  // The pages are reserved, so this fails only for a file that was cut; then nothing is left to
  // keep right.
  [[maybe_unused]] const ssize_t written =
      ::pwrite(descriptor_, bytes, count, static_cast<off_t>(offset));
}

LiveSlots Tables::live_slots() const {
  return {.low = word(gpu_word(offsetof(GpuBlock, live_slots_low))),
          .high = word(gpu_word(offsetof(GpuBlock, live_slots_high)))};
}

void Tables::set_live(std::uint32_t slot, bool live) {
  const BitPlace bit = slot_bit(slot);
  const std::uint64_t seen = word(bit.offset);
  set_word(bit.offset, live ? seen | bit.mask : seen & ~bit.mask);
}

void Tables::keep_refusals(std::uint32_t slot) {
  const std::uint64_t base = slot_offset(slot);
  const std::uint64_t index = word(base + offsetof(ClientSlot, job_index));
  const std::uint64_t refusals =
      word(base + offsetof(ClientSlot, counters) + offsetof(ClientCounters, refusals));
  if (index >= kJobSlots || refusals == 0) {
    return;
  }
  const std::uint64_t job = job_offset(static_cast<std::uint32_t>(index));
  if (word(job + offsetof(JobEntry, job)) == word(base + offsetof(ClientSlot, job))) {
    const std::uint64_t place = job + offsetof(JobEntry, refusals);
    set_word(place, word(place) + refusals);
  }
}

std::uint16_t Tables::renew_slot(std::uint32_t slot) {
  const std::uint64_t base = slot_offset(slot);
  keep_refusals(slot);
  const std::uint64_t generation = word(base + offsetof(ClientSlot, generation)) + 1;
  const auto tag = static_cast<std::uint16_t>(generation);
  set_word(base + offsetof(ClientSlot, joined), 0);
  set_word(base + offsetof(ClientSlot, generation), generation);
  set_word(memory_word(slot, offsetof(ClientMemory, asking)), owned_amount(tag, 0));
  set_word(memory_word(slot, offsetof(ClientMemory, used)), owned_amount(tag, 0));
  set_word(memory_word(slot, offsetof(ClientMemory, peak)), 0);
  set_word(memory_word(slot, offsetof(ClientMemory, context)), context_word(tag, 0));
  const std::array<std::byte, sizeof(ClientCounters)> no_counts{};
  write(base + offsetof(ClientSlot, counters), no_counts.data(), no_counts.size());
  const std::array<std::byte, sizeof(ClientSlot) - offsetof(ClientSlot, gate)> no_gate{};
  write(base + offsetof(ClientSlot, gate), no_gate.data(), no_gate.size());
  set_word(base + offsetof(ClientSlot, job_index), kJobSlots);
  return tag;
}

std::uint32_t Tables::reclaim_dead() {
  std::uint32_t freed = 0;
  const LiveSlots live = live_slots();
  for (std::uint32_t slot = 0; slot < kClientSlots; ++slot) {
    // The lock is had only if the owner has ended; it keeps others from the slot meanwhile.
    if (live.has(slot) && try_lock_byte(descriptor_, kFirstSlotLockByte + slot)) {
      renew_slot(slot);
      set_live(slot, false);
      ++freed;
    }
  }
  if (freed > 0) {
    drop_unused_jobs();
  }
  return freed;
}

std::uint32_t Tables::find_job(std::uint64_t job) const {
  for (std::uint32_t index = 0; index < kJobSlots; ++index) {
    if (job != 0 && word(job_offset(index) + offsetof(JobEntry, job)) == job) {
      return index;
    }
  }
  return kJobSlots;
}

StateError Tables::add_job(const JobTerms& terms, std::uint32_t& index) {
  for (index = 0; index < kJobSlots; ++index) {
    if (word(job_offset(index) + offsetof(JobEntry, job)) == 0) {
      set_terms(index, terms);
      set_word(job_offset(index) + offsetof(JobEntry, wanted), kWantNothing);
      set_word(job_offset(index) + offsetof(JobEntry, refusals), 0);
      set_word(job_offset(index) + offsetof(JobEntry, job), terms.job);
      const BitPlace bit = job_bit(index);
      set_word(bit.offset, word(bit.offset) | bit.mask);
      return StateError::None;
    }
  }
  return StateError::Full;
}

void Tables::set_terms(std::uint32_t index, const JobTerms& terms) {
  const std::uint64_t base = job_offset(index);
  set_word(base + offsetof(JobEntry, job_class), static_cast<std::uint64_t>(terms.job_class));
  set_word(base + offsetof(JobEntry, limit_bytes), checked_word(terms.limit_bytes));
  set_word(base + offsetof(JobEntry, guarantee_bytes), checked_word(terms.guarantee_bytes));
  set_word(base + offsetof(JobEntry, kept), terms.kept ? 1 : 0);
}

void Tables::remove_job(std::uint32_t index) {
  const BitPlace bit = job_bit(index);
  set_word(bit.offset, word(bit.offset) & ~bit.mask);
  set_terms(index, {});
  set_word(job_offset(index) + offsetof(JobEntry, job), 0);
}

void Tables::release_job(std::uint32_t index) {
  set_word(job_offset(index) + offsetof(JobEntry, kept), 0);
}

void Tables::drop_unused_jobs() {
  std::array<bool, kJobSlots> used{};
  const LiveSlots live = live_slots();
  for (std::uint32_t slot = 0; slot < kClientSlots; ++slot) {
    const std::uint64_t index =
        live.has(slot) ? word(slot_offset(slot) + offsetof(ClientSlot, job_index)) : kJobSlots;
    if (index < kJobSlots) {
      used[index] = true;
    }
  }
  bool removed = false;
  bool remain = false;
  for (std::uint32_t index = 0; index < kJobSlots; ++index) {
    const std::uint64_t base = job_offset(index);
    if (word(base + offsetof(JobEntry, job)) == 0) {
      continue;
    }
    if (!used[index] && word(base + offsetof(JobEntry, kept)) == 0) {
      remove_job(index);
      removed = true;
    } else {
      remain = true;
    }
  }
  if (removed && !remain) {
    set_word(gpu_word(offsetof(GpuBlock, foreign_bytes)), checked_word(0));
  }
}

}  // namespace carpool::interpose
