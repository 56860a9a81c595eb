// Real workers without a GPU: a plan over tests/fake_workload, a fake GPU and a fake MPS.
#pragma once

#include <csignal>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/tests/temporary_folder.hpp"
#include "gpu/fake/fake_telemetry.hpp"
#include "measure/cells.hpp"
#include "measure/worker_pool.hpp"

namespace carpool::measure {

class MeasuringTest : public testing::Test {
 protected:
  void SetUp() override;

  [[nodiscard]] std::filesystem::path scratch() const { return folder_.path() / "scratch"; }
  [[nodiscard]] std::filesystem::path mps_folder() const { return folder_.path() / "mps"; }

  [[nodiscard]] MeasuringPlace place(std::function<bool()> stop = [] { return false; }) const {
    return {.gpu_uuid = "GPU-fake-0",
            .scratch = scratch(),
            .mps_folder = mps_folder(),
            .stop = std::move(stop)};
  }

  // A member with the workload of this name, which is added if it is new.
  Member member(const std::string& name, Mechanism mechanism = Mechanism::Mps) {
    std::size_t at = 0;
    while (at < plan_.workloads.size() && plan_.workloads[at].name != name) {
      ++at;
    }
    if (at == plan_.workloads.size()) {
      plan_.workloads.emplace_back().name = name;
    }
    return {.workload = at, .mechanism = mechanism};
  }

  // Why a member is not ready; "" if all are.
  static std::string why_not(WorkerPool& pool, const std::vector<Member>& members) {
    const auto ready = pool.acquire(members);
    EXPECT_TRUE(ready.has_value()) << ready.error().message;
    return ready->has_value() ? "" : ready->error().reason;
  }

  // Gone, or a zombie.
  static bool dead(pid_t pid) {
    const auto stat = std::filesystem::path("/proc") / std::to_string(pid) / "stat";
    std::string words(512, ' ');
    std::FILE* file = std::fopen(stat.c_str(), "r");
    if (file == nullptr) {
      return true;
    }
    words.resize(std::fread(words.data(), 1, words.size(), file));
    std::fclose(file);
    return words.find(") Z ") != std::string::npos;
  }

  static bool dies_within(pid_t pid, double seconds) {
    const Stopwatch waited;
    while (!dead(pid) && waited.seconds() < seconds) {
      pause_for(std::chrono::milliseconds(10));
    }
    return dead(pid);
  }

  TemporaryFolder folder_;
  Plan plan_;
  gpu::FakeTelemetry telemetry_{gpu::two_fake_gpus()};
};

}  // namespace carpool::measure
