// A GPU for simulations of the gate: launches of a client run in their order; what runs at the same
// time follows from the mode. Kernels are not preempted by MPS, and are by time slices.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "interpose/gate/work.hpp"

namespace carpool::interpose::gate {

struct SimulatedLaunch {
  std::uint64_t id = 0;
  std::uint32_t client = 0;
  bool slo = false;
  Nanoseconds true_ns = 0;      // on the SMs that it needs
  Nanoseconds bound_ns = 0;     // what the gate believes at most
  std::uint32_t sms = 1;        // that it needs
  std::uint32_t sms_limit = 0;  // that it may use; 0: all
};

class SimulatedDevice {
 public:
  SimulatedDevice(bool mps, std::uint32_t sms) : mps_(mps), free_sms_(sms) {}

  void launch(const SimulatedLaunch& launch, Nanoseconds now);
  // Work of a killed process is gone.
  void remove(std::uint32_t client, Nanoseconds now);

  // When a kernel ends or the slice of a client; kNever if nothing runs.
  [[nodiscard]] Nanoseconds next_change() const;
  // Lets time pass, at most until next_change(); the launches that have ended.
  std::vector<SimulatedLaunch> advance(Nanoseconds to);

  // What is left of the unconfined best-effort work, at full speed.
  [[nodiscard]] Nanoseconds best_effort_left(Nanoseconds now) const;
  // The most by which a best-effort kernel took longer than its bound because it began beside
  // others: it keeps the SMs that it found (MPS).
  [[nodiscard]] Nanoseconds longest_overrun() const { return longest_overrun_; }

 private:
  struct Entry {
    SimulatedLaunch launch;
    std::uint64_t order = 0;
    Nanoseconds left = 0;     // time slices
    Nanoseconds started = 0;  // MPS
    Nanoseconds ends = 0;
    std::uint32_t granted = 0;  // 0: not started
  };
  void start_kernels(Nanoseconds now);
  void choose_client(Nanoseconds now);
  [[nodiscard]] bool others_wait() const;
  void pop(std::uint32_t client);

  bool mps_;
  std::uint32_t free_sms_;
  std::uint64_t order_ = 0;
  std::map<std::uint32_t, std::deque<Entry>> queues_;  // without empty ones
  Nanoseconds last_ = 0;
  std::uint32_t current_ = 0;
  Nanoseconds slice_ends_ = 0;
  Nanoseconds longest_overrun_ = 0;
};

}  // namespace carpool::interpose::gate
