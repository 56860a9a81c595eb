// libcarpool_profile.so in a program: what it records, and that the program does not notice it.
#include <algorithm>
#include <csignal>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/process/child_process.hpp"
#include "gpu/cupti/activity_reader.hpp"
#include "gpu/cupti/control_file.hpp"
#include "gpu/cupti/injection.hpp"
#include "injected_library_fixture.hpp"

namespace carpool {
namespace {

TEST_F(InjectedLibrary, RecordsEveryLaunchWithItsKernelAndItsDevice) {
  const gpu::ActivityTrace trace = recorded({"--steps", "7", "--kernels", "5", "--step-ms", "2"});
  EXPECT_TRUE(trace.complete);
  EXPECT_EQ(trace.program, "fake_cuda_progr");  // truncated by the kernel
  EXPECT_EQ(trace.start.cupti_version, 130000U);
  ASSERT_EQ(trace.kernels.size(), 5U);
  EXPECT_EQ(trace.launches.size(), 35U);
  EXPECT_EQ(trace.memory_operations.size(), 14U);
  ASSERT_EQ(trace.devices.size(), 1U);
  EXPECT_EQ(trace.devices[0].name, "Fake H200");
  EXPECT_EQ(trace.devices[0].facts.sm_count, 132U);
  EXPECT_EQ(trace.devices[0].facts.max_warps_per_sm, 64U);
  EXPECT_EQ(trace.devices[0].facts.shared_bytes_per_sm, 233472U);
  const gpu::ActivityKernel& kernel = trace.kernels[trace.launches[6].kernel];
  EXPECT_EQ(kernel.name, "kernel_1");
  EXPECT_EQ(kernel.facts.grid, (std::array<std::uint32_t, 3>{101, 2, 1}));
  EXPECT_EQ(kernel.facts.registers_per_thread, 33U);
  EXPECT_EQ(kernel.facts.dynamic_shared_bytes, 2048U);
  EXPECT_EQ(trace.launches[6].stream, 7U);
  EXPECT_EQ(trace.launches[6].flags, 0U);
  EXPECT_EQ(trace.launches[5].start_ns - trace.launches[0].start_ns, 2'000'000);
  ASSERT_EQ(trace.windows.size(), 1U);
  EXPECT_LE(trace.windows[0].start_ns, trace.launches[0].start_ns);
  EXPECT_GE(trace.windows[0].end_ns, trace.launches.back().start_ns);
  EXPECT_EQ(trace.end->launches, 35U);
  EXPECT_EQ(trace.end->dropped, 0U);
}

TEST_F(InjectedLibrary, TellsNodesOfAGraphOneByOne) {
  const gpu::ActivityTrace trace = recorded({"--steps", "2", "--graph"});
  ASSERT_EQ(trace.launches.size(), 20U);
  EXPECT_EQ(trace.launches[0].flags, gpu::activity_format::kGraphNode);
}

TEST_F(InjectedLibrary, LosesNothingOfManyLaunches) {
  const gpu::ActivityTrace trace =
      recorded({"--steps", "100", "--kernels", "1000", "--step-ms", "3", "--startup", "1000"});
  EXPECT_EQ(trace.end->dropped, 0U);
  const auto steps =
      std::count_if(trace.launches.begin(), trace.launches.end(), [&](const auto& launch) {
        return trace.kernels[launch.kernel].name.starts_with("kernel_");
      });
  EXPECT_EQ(steps, 100'000);
}

TEST_F(InjectedLibrary, OfACrashedProgramLeavesAFileThatCanBeRead) {
  options_.flush_period = std::chrono::milliseconds(10);
  const ExitStatus status = run({"--steps", "100", "--step-ms", "5", "--crash", "60"});
  EXPECT_EQ(status.signal, SIGSEGV);
  const auto all = traces();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_FALSE(all[0].complete);
  EXPECT_GT(all[0].launches.size(), 300U);
  EXPECT_LE(all[0].launches.size(), 600U);
}

TEST_F(InjectedLibrary, KeepsTheProgramsExitStatus) {
  EXPECT_EQ(run({"--steps", "1", "--exit", "3"}).code, 3);
}

TEST_F(InjectedLibrary, AProgramWithoutAGpuLeavesNoFile) {
  EXPECT_TRUE(run({"--steps", "1", "--no-gpu"}).ok());
  EXPECT_TRUE(traces().empty());
}

TEST_F(InjectedLibrary, AForkedChildIsInert) {
  const gpu::ActivityTrace trace =
      recorded({"--steps", "2", "--kernels", "4", "--fork"}, without_leak_check());
  EXPECT_TRUE(trace.complete);
  EXPECT_EQ(trace.launches.size(), 8U);
}

TEST_F(InjectedLibrary, AStartedChildHasAFileOfItsOwn) {
  EXPECT_TRUE(run({"--steps", "4", "--kernels", "5", "--child"}, without_leak_check()).ok());
  const auto all = traces();
  ASSERT_EQ(all.size(), 2U);
  std::set<std::size_t> counts;
  for (const gpu::ActivityTrace& trace : all) {
    EXPECT_TRUE(trace.complete);
    counts.insert(trace.launches.size());
  }
  EXPECT_EQ(counts, (std::set<std::size_t>{6, 20}));
}

TEST_F(InjectedLibrary, CountsLaunchesWithoutTimesAsLost) {
  options_.flush_period = std::chrono::milliseconds(10);
  const gpu::ActivityTrace trace = recorded({"--steps", "40", "--untimed", "3"});
  const gpu::ActivityNote* note = note_of(trace, NoteKind::Dropped);
  ASSERT_NE(note, nullptr);
  EXPECT_EQ(note->code, 3);
  EXPECT_EQ(trace.end->dropped, 3U);
  EXPECT_EQ(trace.launches.size(), 400U);
}

TEST_F(InjectedLibrary, StopsAtTheLimitOfLaunches) {
  options_.max_launches = 100;
  options_.flush_period = std::chrono::milliseconds(10);
  const gpu::ActivityTrace trace =
      recorded({"--steps", "100", "--kernels", "50", "--step-ms", "5"});
  EXPECT_NE(note_of(trace, NoteKind::LimitReached), nullptr);
  EXPECT_TRUE(trace.complete);
  EXPECT_GE(trace.launches.size(), 90U);
  EXPECT_LT(trace.launches.size(), 4000U);
}

TEST_F(InjectedLibrary, RecordsOnlyBetweenTheOrdersOfTheWatcher) {
  options_.flush_period = std::chrono::milliseconds(10);
  auto control = gpu::ProfileControl::create(folder_, Order::Wait);
  ASSERT_TRUE(control.has_value()) << control.error().message;
  auto child = ChildProcess::start(command({"--steps", "0", "--step-ms", "2"}), {});
  ASSERT_TRUE(child.has_value()) << child.error().message;
  ASSERT_TRUE(comes_true([&] { return control->state().attached == 1; }));
  EXPECT_EQ(control->state().recording, 0U);
  EXPECT_EQ(control->state().launches, 0U);

  const std::int64_t from = monotonic_ns();
  control->order(Order::Record);
  ASSERT_TRUE(comes_true([&] { return control->state().launches > 500; }));
  EXPECT_EQ(control->state().recording, 1U);
  EXPECT_GE(control->state().last_launch_ns, from);

  control->order(Order::Stop);
  ASSERT_TRUE(comes_true([&] { return control->state().ended == 1; }));
  const std::int64_t to = monotonic_ns();
  EXPECT_EQ(control->state().recording, 0U);
  EXPECT_FALSE(child->poll().has_value());  // still runs, unrecorded
  child->end(std::chrono::seconds(5));

  const auto all = traces();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all[0].complete);
  EXPECT_GT(all[0].launches.size(), 500U);
  EXPECT_GE(all[0].launches.front().start_ns, from);
  EXPECT_LE(all[0].launches.back().start_ns, to);
  ASSERT_EQ(all[0].windows.size(), 1U);
  EXPECT_GE(all[0].windows[0].start_ns, from);
  EXPECT_LE(all[0].windows[0].end_ns, to);
}

TEST_F(InjectedLibrary, DoesNothingWithoutAFolder) {
  EXPECT_TRUE(run({"--steps", "1"}, {{"CARPOOL_PROFILE_DIR", folder_ / "missing"}}).ok());
  EXPECT_TRUE(traces().empty());
}

TEST(Injection, LibraryIsLookedForBesideTheProgram) {
  const auto found = gpu::find_profile_library();
  if (found) {
    EXPECT_EQ(found->filename(), "libcarpool_profile.so");
  } else {
    EXPECT_EQ(found.error().code, ErrorCode::NotFound);
    EXPECT_NE(found.error().message.find("lib/carpool/libcarpool_profile.so"), std::string::npos);
  }
}

TEST(Injection, NvtxIsLeftAloneUnlessARangeIsAskedFor) {
  EXPECT_FALSE(gpu::injection_environment("l", "f", {}).contains("NVTX_INJECTION64_PATH"));
  gpu::InjectionOptions options;
  options.nvtx_range = "step";
  EXPECT_EQ(gpu::injection_environment("l", "f", options).at("NVTX_INJECTION64_PATH"), "l");
}

}  // namespace
}  // namespace carpool
