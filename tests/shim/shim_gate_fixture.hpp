// SLO and best-effort processes on one device.
#pragma once

#include <chrono>
#include <csignal>
#include <string>

#include "interpose/gate/decision.hpp"
#include "shim_processes.hpp"

namespace carpool::shim_test {

class ShimGate : public ShimProcesses {
 protected:
  void SetUp() override {
    ShimProcesses::SetUp();
    settings("sms = 4");  // a kernel of the program takes all of the device
  }

  [[nodiscard]] static Environment slo(const std::string& mps = "1") {
    return {{"CARPOOL_SHIM_CLASS", "slo"},
            {"CARPOOL_SHIM_MPS", mps},
            {"CARPOOL_SHIM_SLO_NS", "200000000"},
            {"CARPOOL_SHIM_QUANTILE", "0.9"}};
  }
  [[nodiscard]] static Environment best_effort(const std::string& mps = "1") {
    return {{"CARPOOL_SHIM_CLASS", "best-effort"}, {"CARPOOL_SHIM_MPS", mps}};
  }

  // The median of the requests of an SLO process beside a best-effort one, in µs.
  std::uint64_t median_beside(const Environment& served, const Environment& flooded) {
    clear_files();
    const ChildProcess flood = start({"lookup", "flood", "0"}, flooded);
    const Values seen = run({"lookup", "serve", "30"}, with_files(served));
    EXPECT_EQ(seen.at("failures"), 0U);
    served_ = seen;
    return seen.at("median_us");
  }

  // Launches of a process, by its slot.
  [[nodiscard]] std::uint64_t launches_of(pid_t pid) const {
    std::error_code problem;
    const auto state = folder_ / "state";
    for (const auto& file : std::filesystem::directory_iterator(state, problem)) {
      interpose::StateReader reader;
      interpose::StateReport report;
      if (reader.open(state.string(), file.path().stem().string(), ::geteuid()) !=
              interpose::StateError::None ||
          reader.read(report, interpose::StateReader::Dead::Keep) != interpose::StateError::None) {
        continue;
      }
      for (const interpose::ClientReport& client : report.clients) {
        if (client.pid == pid) {
          return client.launches;
        }
      }
    }
    return 0;
  }

  // On a busy machine a program may not see what it shows on an idle one: then once more.
  template <typename Run, typename Shown>
  static auto once_shown(const Run& run, const Shown& shown) {
    constexpr int kAttempts = 8;
    auto seen = run();
    for (int attempt = 1; attempt < kAttempts && !shown(seen); ++attempt) {
      seen = run();
    }
    return seen;
  }

  [[nodiscard]] bool goes_on(pid_t pid, std::chrono::seconds patience = kPatience) const {
    const std::uint64_t before = launches_of(pid);
    return eventually([&] { return launches_of(pid) > before + 50; }, patience);
  }

  // Kills or stops the other process. The processes of the fake driver share one lock, which those
  // of a real one do not: if the other was stopped within it, it runs for a moment and is stopped
  // again.
  [[nodiscard]] bool goes_on_without(pid_t other, int signal, pid_t pid) const {
    constexpr int kAttempts = 4;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      if (::kill(other, signal) != 0) {
        return false;
      }
      if (goes_on(pid, kPatience / kAttempts)) {
        return true;
      }
      ::kill(other, SIGCONT);
      pause_for(std::chrono::milliseconds(20));
    }
    return false;
  }

  Values served_;
};

inline std::string holds_of(interpose::gate::HoldReason reason) {
  return "holds_" + std::to_string(static_cast<unsigned>(reason));
}

inline std::string held_of(interpose::gate::HoldReason reason) {
  return "held_ns_" + std::to_string(static_cast<unsigned>(reason));
}

}  // namespace carpool::shim_test
