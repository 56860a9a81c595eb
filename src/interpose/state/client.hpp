// One process on one GPU: its slot in the shared state. Used by the library in the user's process;
// no heap, no exceptions, no output. Until join() succeeds, and after it failed, everything works
// on memory of the process itself: the counters count, no limit applies.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "interpose/state/layout.hpp"
#include "interpose/state/state_file.hpp"

namespace carpool::interpose {

// Names a client of the shared state: other processes may hold it after the client has gone, and
// then it names none.
struct ClientId {
  std::uint32_t slot = kClientSlots;
  std::uint16_t generation = 0;

  [[nodiscard]] bool valid() const { return slot < kClientSlots; }
  friend bool operator==(const ClientId&, const ClientId&) = default;
};

struct Membership {
  std::string_view name{};  // cut at 63 bytes
  std::uint64_t job = 0;    // all processes of a job have one number; 0: the process is on its own
  JobClass job_class = JobClass::BestEffort;
  // For a job that the shared state does not know yet; else the values there apply.
  std::uint64_t limit_bytes = kUnlimited;
  std::uint64_t guarantee_bytes = 0;
};

// What clients that have not joined write to.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables,bugprone-dynamic-static-initializers)
extern ClientSlot unshared_slot;

class Client {
 public:
  constexpr Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { leave(); }

  // Takes a slot. An empty folder means default_state_folder(). On an error the client stays in
  // pass-through. Not for two threads at once.
  [[nodiscard]] StateError join(std::string_view folder,
                                std::string_view gpu_uuid,
                                const Membership& membership);

  // Gives the slot and its charge back; idempotent.
  void leave();

  [[nodiscard]] bool joined() const { return joined_.load(std::memory_order_relaxed); }
  // Not valid while not joined.
  [[nodiscard]] ClientId id() const { return joined() ? id_ : ClientId{}; }

  // Number of bytes of the GPU, from the driver. Kept if the shared state knows it already.
  void tell_total_memory(std::uint64_t bytes);

  // Hot paths: about 5 ns each, from any thread.
  void count_launch(std::uint64_t now_ns) {
    counters().launches.fetch_add(1, std::memory_order_relaxed);
    counters().last_call_ns.store(now_ns, std::memory_order_relaxed);
  }
  void count_graph_launch(std::uint64_t nodes, std::uint64_t now_ns) {
    counters().graph_launches.fetch_add(1, std::memory_order_relaxed);
    counters().graph_nodes.fetch_add(nodes, std::memory_order_relaxed);
    counters().last_call_ns.store(now_ns, std::memory_order_relaxed);
  }
  void count_copy(std::uint64_t bytes) {
    counters().copies.fetch_add(1, std::memory_order_relaxed);
    counters().copied_bytes.fetch_add(bytes, std::memory_order_relaxed);
  }
  [[nodiscard]] ClientCounters& counters() { return slot().counters; }

  // Own slot; a private one while not joined.
  [[nodiscard]] ClientSlot& slot() { return *slot_.load(std::memory_order_relaxed); }
  // Null while not joined.
  [[nodiscard]] SharedState* shared() const { return joined() ? file_.state() : nullptr; }
  [[nodiscard]] const StateFile& file() const { return file_; }

  // What readers of the state want of this client beside counting: kWantLog, kWantDurations.
  [[nodiscard]] std::uint64_t wanted() const {
    const SharedState* const state = shared();
    return state == nullptr ? std::uint64_t{kWantNothing}
                            : state->gpu.wanted.load(std::memory_order_relaxed) |
                                  state->jobs[job_index_].wanted.load(std::memory_order_relaxed);
  }

  // The ring to write launches to (log_launch() in kernel_log.hpp, with slot().log_head); null
  // while none is wanted or there is no memory for it.
  [[nodiscard]] KernelLogRing* log();

  // Whether the slot is still this client's. It is even if the program closes the descriptor,
  // because the mapping keeps the lock; a damaged file may tell otherwise.
  [[nodiscard]] bool owns_slot();

  // Frees the slots of clients that have ended, with their charge; the number of them. Called
  // by join() and before an allocation is refused.
  std::uint32_t reclaim_dead();

 private:
  [[nodiscard]] StateError take_slot(const Membership& membership);
  void prepare_log();

  StateFile file_;
  std::atomic<ClientSlot*> slot_{&unshared_slot};
  std::atomic<bool> joined_{false};
  enum class Log : std::uint8_t { None, InPreparation, Ready };
  std::atomic<Log> log_state_{Log::None};
  ClientId id_;
  std::uint32_t job_index_ = 0;
};

}  // namespace carpool::interpose
