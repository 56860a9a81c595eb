#include "measure/cell_run.hpp"

#include "measure/tests/measuring_test.hpp"

namespace carpool::measure {
namespace {

// A fake GPU in real time.
class TickingTelemetry final : public TelemetrySource {
 public:
  explicit TickingTelemetry(gpu::FakeTelemetry& fake) : fake_(fake) {}
  Result<std::vector<GpuInfo>> list_gpus() override { return fake_.list_gpus(); }
  Result<GpuSample> sample(unsigned gpu) override {
    auto sample = fake_.sample(gpu);
    if (sample) {
      sample->at_ns = monotonic_ns();
    }
    return sample;
  }
  Result<std::optional<GpuEnergy>> energy(unsigned /*gpu*/) override {
    const std::int64_t now = monotonic_ns();
    return GpuEnergy{.at_ns = now, .joules = static_cast<double>(now) * 1e-9 * 250.0};  // 250 W
  }
  Result<std::optional<GpuActivity>> activity(unsigned gpu) override {
    fake_.advance(std::chrono::seconds(1));
    return fake_.activity(gpu);
  }
  Result<void> begin_activity(unsigned gpu) override { return fake_.begin_activity(gpu); }
  Result<std::vector<GpuProcess>> processes(unsigned gpu) override { return fake_.processes(gpu); }

 private:
  gpu::FakeTelemetry& fake_;
};

class CellRunTest : public MeasuringTest {
 protected:
  Result<Measurement> run(WorkerPool& pool, std::vector<Member> members) {
    const Cell cell{.table = "t", .mechanism = Mechanism::Mps, .members = std::move(members)};
    return run_cell(cell, plan_, pool, ticking_, stop_);
  }
  Measurement measured(WorkerPool& pool, std::vector<Member> members) {
    auto out = run(pool, std::move(members));
    EXPECT_TRUE(out.has_value()) << out.error().message;
    return out.value_or(Measurement{});
  }

  TickingTelemetry ticking_{telemetry_};
  std::function<bool()> stop_ = [] { return false; };
};

TEST_F(CellRunTest, SpeedsAreThoseOfTheSteps) {
  plan_.window.seconds = 0.5;
  const Member quick = member("ms4-units8");
  const Member slow = member("ms50");
  WorkerPool pool(plan_, place());
  const Measurement out = measured(pool, {quick, slow});
  ASSERT_FALSE(out.failure.has_value()) << out.failure->message;
  EXPECT_EQ(out.key, "t mps ms4-units8+ms50 #0");
  EXPECT_EQ(out.table, "t");
  EXPECT_NEAR(out.members[0].throughput, 2000.0, 100.0);
  EXPECT_NEAR(out.members[0].steps.steps_per_second, 250.0, 12.5);
  EXPECT_NEAR(out.members[1].throughput, 20.0, 1.0);
  EXPECT_NEAR(out.members[1].steps.p50, 0.050, 0.005);
  EXPECT_GE(out.seconds, 0.5);
  EXPECT_GE(out.spent_seconds, out.seconds);
  EXPECT_FALSE(out.at.empty());
  // Held and ready again.
  EXPECT_NEAR(measured(pool, {slow}).members[0].throughput, 20.0, 1.0);
}

TEST_F(CellRunTest, TheWindowGrowsUntilTheSlowestHasSteps) {
  plan_.window.least_steps = 4;
  WorkerPool pool(plan_, place());
  const Measurement out = measured(pool, {member("ms100")});
  EXPECT_GE(out.seconds, 0.35);
  EXPECT_GE(out.members[0].steps.steps, 4U);
}

TEST_F(CellRunTest, WhatTheGpuDidIsInIt) {
  const Member a = member("ms5");
  WorkerPool pool(plan_, place());
  ASSERT_EQ(why_not(pool, {a}), "");
  telemetry_.set_processes(0, {{.pid = pool.pid_of(a), .memory_bytes = 123, .mps_client = true}});
  telemetry_.set_sample(0,
                        {.gpu_utilisation = 0.5,
                         .memory_utilisation = 0.25,
                         .power_watts = 1.0,
                         .sm_clock_mhz = 1980.0,
                         .throttle_reasons = {"power-cap"}});
  telemetry_.set_activity(0, {.sm_active = 0.75});
  const Measurement out = measured(pool, {a});
  EXPECT_EQ(out.members[0].memory_bytes, 123U);
  EXPECT_EQ(out.gpu_utilisation, 0.5);
  EXPECT_EQ(out.memory_utilisation, 0.25);
  EXPECT_EQ(out.sm_clock_mhz, 1980.0);
  EXPECT_EQ(out.throttle_reasons, std::vector<std::string>{"power-cap"});
  EXPECT_EQ(out.activity.sm_active, 0.75);
  EXPECT_NEAR(out.power_watts.value_or(0.0), 250.0, 0.01);  // by energy, not the sampled value
  EXPECT_NEAR(out.energy_joules.value_or(0.0), 250.0 * out.seconds, 10.0);
}

TEST_F(CellRunTest, OneThatDiesInTheMiddleFailsTheWindowAndNobodyElse) {
  const Member dying = member("ms20-die10");
  const Member well = member("ms5");
  WorkerPool pool(plan_, place());
  ASSERT_EQ(why_not(pool, {dying, well}), "");
  const pid_t before = pool.pid_of(well);
  const Measurement out = measured(pool, {dying, well});
  ASSERT_TRUE(out.failure.has_value());
  EXPECT_EQ(out.failure->reason, "crash");
  EXPECT_EQ(out.failure->message, "exit status 1: ValueError: no");
  EXPECT_FALSE(out.at.empty());
  EXPECT_FALSE(pool.present(dying));
  EXPECT_FALSE(measured(pool, {well}).failure.has_value());
  EXPECT_EQ(pool.pid_of(well), before);
}

TEST_F(CellRunTest, ALackOfMemoryIsCalledSo) {
  WorkerPool pool(plan_, place());
  const Measurement out = measured(pool, {member("ms20-oom6")});
  ASSERT_TRUE(out.failure.has_value());
  EXPECT_EQ(out.failure->reason, kOutOfMemory);
}

TEST_F(CellRunTest, OneThatHangsIsTooSlowAndIsStartedAnew) {
  plan_.window.longest_seconds = 0.5;
  const Member hanging = member("ms5-deaf4");
  WorkerPool pool(plan_, place());
  ASSERT_EQ(why_not(pool, {hanging}), "");
  const pid_t before = pool.pid_of(hanging);
  const Measurement out = measured(pool, {hanging, member("ms5")});
  ASSERT_TRUE(out.failure.has_value());
  EXPECT_EQ(out.failure->reason, "too-slow");
  EXPECT_TRUE(dead(before));
  EXPECT_EQ(why_not(pool, {hanging}), "");
}

TEST_F(CellRunTest, AGpuThatDoesNotAnswerIsOurTrouble) {
  telemetry_.break_gpu(0, {ErrorCode::Internal, "GPU is lost"});
  const Member a = member("ms5");
  WorkerPool pool(plan_, place());
  const auto out = run(pool, {a});
  ASSERT_FALSE(out.has_value());
  EXPECT_EQ(out.error().message, "GPU is lost");
  EXPECT_EQ(why_not(pool, {a}), "");  // held again
}

TEST_F(CellRunTest, AskedToStopAWindowIsGivenUp) {
  plan_.window.seconds = 60.0;
  stop_ = [] { return true; };
  WorkerPool pool(plan_, place());
  const Measurement out = measured(pool, {member("ms5")});
  ASSERT_TRUE(out.failure.has_value());
  EXPECT_EQ(out.failure->reason, kStopped);
}

}  // namespace
}  // namespace carpool::measure
