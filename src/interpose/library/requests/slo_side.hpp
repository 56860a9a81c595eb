// The side of a process with an SLO. It tells the best-effort processes of the GPU by its slot of
// the shared state when a request is active, and how long its requests take. It waits for none of
// them, but may wait for the request of another SLO process that is about to be late; and for an
// iteration of a best-effort process whose policy has iterations run to their end.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "interpose/gate/launch_phase.hpp"
#include "interpose/gate/quantile_sketch.hpp"
#include "interpose/gate/queue_wait.hpp"
#include "interpose/gate/quiet_time.hpp"
#include "interpose/gate/service_time.hpp"
#include "interpose/gate/shared_view.hpp"
#include "interpose/gate/slack.hpp"
#include "interpose/gate/tail_control.hpp"
#include "interpose/library/requests/open_requests.hpp"
#include "interpose/library/requests/slo_presence.hpp"
#include "interpose/library/requests/work_order.hpp"
#include "interpose/library/spin_lock.hpp"
#include "interpose/state/client.hpp"

namespace carpool::interpose {

struct SloPromise {
  std::uint64_t slo_ns = 0;
  std::uint64_t quantile_millionths = 990'000;
  bool in_mps = false;  // the process is a client of MPS
};

// What this thread has done since its last launch or copy to the GPU.
struct ThreadSigns {
  bool waited = false;    // for work
  bool asked = false;     // about work that was not done
  bool launched = false;  // no wait has followed
};
extern constinit thread_local ThreadSigns thread_signs;  // NOLINT

class SloSide {
 public:
  void start(Client& client, const SloPromise& promise);

  // Before a launch. A request begins with the first one after the client was idle.
  void launch_begins(Client& client, std::uint64_t now) {
    worked(client, now, false);
    if (may_have_to_wait(client)) [[unlikely]] {
      make_way(client, now);
    }
  }
  // The driver has it. A wait of another thread that began before says nothing of it, but may have
  // ended the request.
  void launched(Client& client, StreamKey stream, std::uint64_t now) {
    if (!active_.load(std::memory_order_relaxed)) [[unlikely]] {
      next_request(client, now, 0);
    }
    order_.launched(stream, now);
  }
  // A copy to the GPU. One that follows a wait of its thread is the input of the next request.
  void input_copied(Client& client, std::uint64_t now) {
    worked(client, now, thread_signs.waited || waited_.load(std::memory_order_relaxed));
  }

  // Which work is done when a wait ends: streams and events are told to it.
  [[nodiscard]] WorkOrder& order() { return order_; }
  [[nodiscard]] bool works(std::uint64_t now) const { return order_.works(since(now, kForgotten)); }
  void recorded(Client& client, Handle event, StreamKey stream);

  // The program waits for the GPU; false if it has nothing to wait for. `phase`: the wait ends a
  // launch phase.
  [[nodiscard]] bool wait_begins(Client& client, std::uint64_t now, bool phase);
  // What is reached is done; none: the wait was for a copy.
  void wait_ends(Client& client, std::uint64_t now, const std::optional<Reach>& reach);
  // The program asks whether work is done: what the answer will tell of; empty: of nothing that is
  // known here.
  [[nodiscard]] std::optional<Reach> asked(const Awaited& awaited);
  void answered(Client& client, std::uint64_t now, const Reach& reach, bool done);
  // A callback of the driver will tell that work is done; false if there is none.
  [[nodiscard]] bool callback_is_due(Client& client, std::uint64_t now);
  // It runs; empty: it never will.
  void callback_ends(Client& client, std::uint64_t now, const std::optional<Reach>& reach);

  // Declared by the program, which is believed from then on.
  void request_begins(Client& client, std::uint64_t now);
  void request_ends(Client& client, std::uint64_t now);

 private:
  void worked(Client& client, std::uint64_t now, bool begins) {
    ClientGate& words = client.slot().gate;
    const auto silent =
        static_cast<std::int64_t>(now - words.lease_ns.load(std::memory_order_relaxed));
    if (silent >= gate::kSloLease) [[unlikely]] {
      set_ahead(words, false);
    }
    if (words.commands_in_flight.load(std::memory_order_relaxed) == 0) {
      paused(words, silent);
    }
    if (begins || silent >= gate::quiet_time_of(words) ||
        !active_.load(std::memory_order_relaxed)) {
      next_request(client, now, silent);
    }
    words.last_launch_ns.store(now, std::memory_order_relaxed);
    words.lease_ns.store(now, std::memory_order_relaxed);
    words.commands_in_flight.store(words.commands_in_flight.load(std::memory_order_relaxed) + 1,
                                   std::memory_order_relaxed);
    thread_signs = {.launched = true};
    waited_.store(false, std::memory_order_relaxed);
    if (silent >= kSilent) [[unlikely]] {
      ring(client);
    }
  }
  // After such a time best-effort processes may take the request for ended.
  static constexpr gate::Nanoseconds kSilent = 30 * gate::kMicrosecond;
  static void ring(Client& client);
  // One look, at one line, where this is the only SLO client of the GPU and no policy has a lane.
  [[nodiscard]] bool may_have_to_wait(const Client& client) const {
    const SharedState* const state = client.shared();
    return state != nullptr &&
           ((state->gpu.slo_clients[0].load(std::memory_order_relaxed) & others_[0]) |
            (state->gpu.slo_clients[1].load(std::memory_order_relaxed) & others_[1]) |
            state->gpu.lane.load(std::memory_order_relaxed)) != 0;
  }
  // Returns when the launch may go to the driver.
  void make_way(Client& client, std::uint64_t now);
  void show_launch_phase(ClientGate& words);
  [[nodiscard]] bool has_event_behind(std::uint64_t now) const {
    return order_.has_event_behind(since(now, kForgotten));
  }
  // `own_waits`: of the client's word, by the caller.
  WorkOrder::Progress work_done(ClientGate& words,
                                std::uint64_t now,
                                const Reach& reach,
                                std::uint64_t own_waits);
  void set_ahead(ClientGate& words, bool ahead);
  // The program has waited for the GPU, and works again after this time.
  void paused(ClientGate& words, gate::Nanoseconds pause);
  void next_request(Client& client, std::uint64_t now, gate::Nanoseconds silent);
  // With the lock held.
  void begin(Client& client, std::uint64_t arrival, std::uint64_t now);
  [[nodiscard]] OpenRequest current(std::uint64_t sign) const;
  void show_arrival(ClientGate& words);
  void end_current(ClientGate& words, std::uint64_t now, gate::Nanoseconds silent, bool waits);
  void close(ClientGate& words);
  void count(ClientGate& words, const OpenRequest& request, std::uint64_t now);
  void give_up(ClientGate& words, std::uint64_t since, std::uint64_t now);

  // Work for which the program has not waited for so long does not count: it may never do so. Where
  // other threads wait, it may be theirs.
  static constexpr gate::Nanoseconds kForgotten = gate::kSecond;
  static constexpr gate::Nanoseconds kForgottenBesideWaits = 10 * gate::kSecond;
  static std::uint64_t since(std::uint64_t now, gate::Nanoseconds span) {
    const auto length = static_cast<std::uint64_t>(span);
    return now > length ? now - length : 0;
  }
  SpinLock lock_;
  SloPromise promise_{};
  std::array<std::uint64_t, 2> others_{};  // their bits
  EndedSloClients ended_{};
  static bool waits_for_legacy(StreamKey stream);
  WorkOrder order_{&waits_for_legacy};
  // As for the thread, by a question, a callback, or a wait of a thread that launches nothing.
  std::atomic<bool> waited_{false};
  // Work that the program has not waited for is on the GPU, with an event behind it, or the program
  // has asked whether it is done: it counts as waiting.
  std::atomic<bool> ahead_{false};
  std::atomic<bool> declares_{false};
  std::atomic<bool> active_{false};  // there is a current request
  std::uint32_t declared_ = 0;       // requests that are open, with the lock held
  gate::RequestBook book_{};
  gate::QueueWait queue_wait_{gate::kQuietTime};
  gate::QuietTime quiet_{gate::kQuietTime};
  gate::LaunchPhase phase_{};
  gate::TailControl tail_{};
  static constexpr std::uint32_t kRecentRequests = 1024;
  gate::QuantileSketch latencies_{kRecentRequests};
  gate::ServiceTime services_{};
  // Of the current request.
  std::uint64_t began_ = 0;
  std::uint64_t launches_before_ = 0;
  bool beside_wait_ = false;           // began while a thread waited for an earlier one
  std::uint64_t waited_launches_ = 0;  // of it, that a wait has covered,
  std::uint64_t waited_ns_ = 0;        // and its end
  bool others_waited_ = false;         // a wait for earlier requests ended since
  OpenRequests open_{};                // those before it
};

}  // namespace carpool::interpose
