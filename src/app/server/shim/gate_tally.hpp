// What the gate did to the processes of one job, or for them, added up; also of those that have
// ended since.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "core/latency.hpp"
#include "interpose/state/reader.hpp"
#include "serve/metrics/job_gate.hpp"

namespace carpool::app {

// Whether a process promises something, or gives way to others.
[[nodiscard]] bool takes_part(const interpose::GateReport& report);
[[nodiscard]] serve::JobGate gate_of(const interpose::GateReport& report);

class GateTally {
 public:
  // GPU, slot and generation of a client.
  using Key = std::tuple<unsigned, std::uint32_t, std::uint16_t>;

  // All processes of the job that are there now.
  void look(std::map<Key, interpose::GateReport> clients);
  [[nodiscard]] interpose::GateReport total() const;
  // Empty: no process of it has served a request.
  [[nodiscard]] std::optional<MeasuredLatency> latency() const;

 private:
  // Requests of a process since processes last came or went.
  [[nodiscard]] std::uint64_t lately(const Key& key, const interpose::GateReport& report) const;
  // The processes that serve requests now: not one that warmed the GPU up once and is idle, whose
  // figures would stay those of its first request.
  [[nodiscard]] std::vector<const interpose::GateReport*> serving() const;

  std::map<Key, interpose::GateReport> clients_;
  std::map<Key, std::uint64_t> requests_then_;  // when processes last came or went
  interpose::GateReport ended_{};
};

}  // namespace carpool::app
