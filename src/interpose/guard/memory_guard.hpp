// Admission of allocations before the driver is asked, and the arithmetic of what is used. There is
// no total that could go wrong when a process is killed: every client writes only its own slot, and
// the sums of jobs and of the GPU are taken over the slots. A request is announced in the slot
// first and then compared with the sum, so of several racing requests none exceeds a limit.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/state/client.hpp"

namespace carpool::interpose {

enum class Verdict : std::uint8_t {
  Admitted,
  OverLimit,          // the job's own limit
  OverTotal,          // the GPU has no more
  KeptForGuarantees,  // what is left is guaranteed to other jobs
};
[[nodiscard]] const char* describe(Verdict verdict);

// For cuMemGetInfo and `carpool top`.
struct MemoryView {
  std::uint64_t job_used = 0;
  std::uint64_t gpu_used = 0;
  std::uint64_t job_limit = kUnlimited;
  std::uint64_t gpu_total = 0;           // 0: unknown
  std::uint64_t available = kUnlimited;  // what one allocation of this client may take now
};

// From any thread. Without a joined client everything is admitted and only the process counts.
class MemoryGuard {
 public:
  explicit MemoryGuard(Client& client) : client_(client) {}

  // Before the driver is asked. If the driver then refuses, release() the same amount. Counts an
  // allocation or a refusal.
  [[nodiscard]] Verdict charge(std::uint64_t bytes);

  // Memory that is there already and cannot be refused: what a pool of the driver has reserved.
  void charge_existing(std::uint64_t bytes);

  // Returns the amount that was released: never more than the client has.
  std::uint64_t release(std::uint64_t bytes);

  [[nodiscard]] MemoryView view();

 private:
  struct Answer {
    Verdict verdict = Verdict::Admitted;
    bool conflict = false;         // it would fit but for requests of others that are undecided
    bool lower_slot_asks = false;  // then that one goes first
  };
  [[nodiscard]] Answer look(std::uint64_t bytes);
  [[nodiscard]] Answer ask(std::uint64_t bytes);
  [[nodiscard]] Answer ask_until_decided(std::uint64_t bytes);
  void settle(std::uint64_t bytes);
  void withdraw(std::uint64_t bytes);

  Client& client_;
  std::atomic<bool> deciding_{false};  // one thread of the process at a time
};

}  // namespace carpool::interpose
