// The programs of this user that run with the library in front of the driver, from the state that
// they share (docs/shim-state.md). The states of other users cannot be read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "interpose/state/reader.hpp"

namespace carpool::app {

// Calls a second between two readings.
struct ClientRates {
  double launches = 0.0;
  double graph_launches = 0.0;
  double copies = 0.0;
};

struct ShimClient {
  interpose::ClientReport seen;
  std::optional<std::uint64_t> limit_bytes{};  // of its job; absent: no limit
  std::optional<ClientRates> rates{};          // absent: it was not there at the last reading
};

// "7" of a server's job, "run" of a program of `carpool run`, "-" of one that was started by hand.
[[nodiscard]] std::string job_label(std::uint64_t job);

[[nodiscard]] ClientRates rates_between(const interpose::ClientReport& before,
                                        const interpose::ClientReport& now,
                                        double seconds);

// Absent if there are no clients, or if the process is another user's, whose state is not read.
[[nodiscard]] std::optional<bool> has_library(const std::vector<ShimClient>& clients,
                                              std::int64_t pid);

class ShimClientWatch {
 public:
  // The clients of a GPU, without `carpool run` itself. None if the state cannot be read.
  [[nodiscard]] std::vector<ShimClient> read(const std::string& gpu_uuid);

 private:
  struct Reading {
    double seconds = 0.0;
    std::vector<interpose::ClientReport> clients;
  };

  Stopwatch watch_;
  std::map<std::string, Reading> before_;  // by GPU
};

}  // namespace carpool::app
