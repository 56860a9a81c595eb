// The side of a best-effort process: a launch asks the policy before the driver gets it, and waits
// in the calling thread while the answer is to wait.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/gate/shared_view.hpp"
#include "interpose/library/gating/asked_policy.hpp"
#include "interpose/library/gating/launch_belief.hpp"
#include "interpose/library/gating/sm_partition.hpp"
#include "interpose/library/gating/turn_queue.hpp"
#include "interpose/library/gating/waiting_clients.hpp"
#include "interpose/library/gating/work_in_flight.hpp"
#include "interpose/library/requests/slo_presence.hpp"
#include "interpose/state/client.hpp"

namespace carpool::interpose {

struct Admission {
  bool asked = false;                 // launched() has to follow
  bool unmeasured = false;            // the kernel table knows too little of it
  Handle confined = nullptr;          // the stream that it goes to instead of its own
  std::uint32_t sms_permille = 1000;  // of the part of the SMs that it goes to
};

class BestEffortSide {
 public:
  void start(Client& client,
             const gate::PolicyChoice& choice,
             const gate::DeviceFacts& device,
             int ordinal);

  // One load where the GPU has no SLO client. Returns when the launch may go to the driver.
  [[nodiscard]] static bool has_slo_clients(const Client& client) {
    const SharedState* const state = client.shared();
    return state != nullptr && (state->gpu.slo_clients[0].load(std::memory_order_relaxed) |
                                state->gpu.slo_clients[1].load(std::memory_order_relaxed)) != 0;
  }
  [[nodiscard]] Admission admit(Client& client, const AskingLaunch& launch);
  // After the driver has got it.
  void launched(const StreamPlace& place);
  // The same for one that went to another stream. `accepted` false: the driver refused that, and
  // got it in its own stream.
  void launched_confined(const StreamPlace& place, bool accepted);

  [[nodiscard]] const gate::DeviceFacts& device() const { return device_; }

  // A stream of this process is about to wait for the event; and the event was recorded.
  void stream_waits(Handle event, const StreamPlace& place);
  void event_recorded(Handle event, const StreamPlace& place);

  // Marks of the program, for policies that let an iteration run to its end.
  void iteration_begins(Client& client);
  void iteration_ends(Client& client);

  // A kernel of this process was measured.
  void learn(gate::Nanoseconds measured);
  void forget(Handle context);

 private:
  struct Question {
    gate::Work work{};
    StreamPlace place{};
    gate::Nanoseconds began = 0;
    gate::Nanoseconds now = 0;
    gate::Nanoseconds start_tag = 0;
    gate::Nanoseconds fits_in = 0;  // when enough work in flight is done, by means
    Handle confined = nullptr;      // the stream of the part of the SMs
    std::uint32_t sms = 0;          // of that part
    bool unmeasured = false;        // too little is known of its duration
    bool queued = false;            // it goes ahead of its turn
  };

  void show_policy(ClientGate& words, const gate::DeviceFacts& device);
  void show_in_flight(ClientGate& words) const;
  [[nodiscard]] gate::Work work_of(const SharedState& state,
                                   const AskingLaunch& launch,
                                   bool& unmeasured);
  // All with the lock held.
  [[nodiscard]] gate::Decision ask(Client& client, Question& question);
  [[nodiscard]] gate::Decision confine(gate::Decision decision, Question& question);
  [[nodiscard]] gate::Decision ask_twice(Client& client, Question& question);
  [[nodiscard]] gate::Decision ask_or_queue(Client& client, Question& question);
  void commit(Client& client, const Question& question);
  void wait(Client& client, Question& question, gate::Decision decision);

  AskedPolicy policy_{};
  gate::DeviceFacts device_{};
  LaunchBelief belief_{};
  WorkInFlight work_{};
  WorkInFlight confined_{};
  SmPartitions partitions_{};
  TurnQueue turns_{};
  bool shares_space_ = false;  // the policy confines launches, if that is possible
  bool queued_ = false;        // some in flight may wait at a gate in their stream
  int ordinal_ = 0;
  WaitingClients alive_{};
  gate::Nanoseconds idle_budget_ = gate::kMillisecond;  // of the last answer
  // In flight when the launch of the last answer is admitted, at least.
  gate::Nanoseconds may_stay_ = 0;
  gate::Nanoseconds finish_tag_ = 0;
  gate::Nanoseconds count_use_at_ = 0;  // for a policy that limits it
  EndedSloClients ended_{};
};

// The driver is about to begin a capture: returns when no call of this part is under way.
void wait_for_gating();

}  // namespace carpool::interpose
