// Changes of who is there: slots of clients and entries of jobs. One process at a time, by a lock
// that the kernel frees; bounded in time. Works on the file, not on a mapping, so that the server
// can use it on files of users.
#pragma once

#include <cstdint>

#include "interpose/state/client.hpp"
#include "interpose/state/layout.hpp"
#include "interpose/state/state_file.hpp"

namespace carpool::interpose {

[[nodiscard]] bool try_lock_byte(int descriptor, std::uint64_t byte);
void unlock_byte(int descriptor, std::uint64_t byte);

struct JobTerms {
  std::uint64_t job = 0;
  JobClass job_class = JobClass::BestEffort;
  std::uint64_t limit_bytes = kUnlimited;
  std::uint64_t guarantee_bytes = 0;
  bool kept = false;  // until it is removed, not only while it has clients
};

struct LiveSlots {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  [[nodiscard]] bool has(std::uint32_t slot) const {
    return ((slot < 64 ? low : high) >> (slot % 64) & 1U) != 0;
  }
};

class Tables {
 public:
  Tables() = default;
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;
  ~Tables();  // gives the lock back

  // Busy after `patience_ms`. Opens the file once more, so that threads of one process
  // exclude each other too.
  static constexpr int kPatienceMs = 200;
  // A client that does not join runs without a quota: it waits where the machine is overloaded.
  static constexpr int kJoinPatienceMs = 3000;
  [[nodiscard]] StateError lock(const StateFile& file, int patience_ms = kPatienceMs);

  [[nodiscard]] LiveSlots live_slots() const;

  // Frees the slots whose owner has ended and the entries of jobs without clients; the number of
  // slots.
  std::uint32_t reclaim_dead();

  // kJobSlots if there is none.
  [[nodiscard]] std::uint32_t find_job(std::uint64_t job) const;
  [[nodiscard]] StateError add_job(const JobTerms& terms, std::uint32_t& index);
  void set_terms(std::uint32_t index, const JobTerms& terms);
  void remove_job(std::uint32_t index);
  // The entry ends with its clients from now on.
  void release_job(std::uint32_t index);
  // Of entries that end with their clients. The memory of foreign processes is forgotten with the
  // last entry: the process that told it has ended too, or tells it again.
  void drop_unused_jobs();

  // The slot becomes empty, its refusals are added to those of its job, and it gets a new owner's
  // generation, which is returned.
  std::uint16_t renew_slot(std::uint32_t slot);
  void set_live(std::uint32_t slot, bool live);

  [[nodiscard]] std::uint64_t word(std::uint64_t offset) const;
  void set_word(std::uint64_t offset, std::uint64_t value);
  void write(std::uint64_t offset, const void* bytes, std::size_t count);

 private:
  void keep_refusals(std::uint32_t slot);

  int descriptor_ = -1;
};

}  // namespace carpool::interpose
