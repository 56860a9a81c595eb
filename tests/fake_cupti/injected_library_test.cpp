// The real libcarpool_profile.so in a program without a GPU, over a fake CUPTI.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/process/child_process.hpp"
#include "gpu/cupti/activity_reader.hpp"
#include "gpu/cupti/control_file.hpp"
#include "gpu/cupti/injection.hpp"

namespace carpool {
namespace {

using gpu::activity_format::NoteKind;
using gpu::activity_format::Order;
using Environment = std::map<std::string, std::string>;

constexpr std::chrono::seconds kPatience{60};

class InjectedLibrary : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "carpool-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    options_.cupti_library = FAKE_CUPTI;
  }

  void TearDown() override { std::filesystem::remove_all(folder_); }

  Command command(const std::vector<std::string>& arguments, const Environment& more = {}) {
    Command command;
    command.argv = {FAKE_CUDA_PROGRAM};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.environment = gpu::injection_environment(PROFILE_LIBRARY, folder_, options_);
    for (const auto& [name, value] : more) {
      command.environment[name] = value;
    }
    return command;
  }

  ExitStatus run(const std::vector<std::string>& arguments, const Environment& more = {}) {
    const auto done = run_command(command(arguments, more), "", kPatience);
    EXPECT_TRUE(done.has_value()) << done.error().message;
    if (!done) {
      return {};
    }
    EXPECT_EQ(done->err, "");
    return done->status;
  }

  std::vector<gpu::ActivityTrace> traces() {
    std::vector<gpu::ActivityTrace> all;
    const auto files = gpu::activity_files(folder_);
    EXPECT_TRUE(files.has_value());
    for (const auto& file : files.value_or(std::vector<std::filesystem::path>())) {
      auto trace = gpu::read_activity(file);
      EXPECT_TRUE(trace.has_value()) << trace.error().message;
      if (trace) {
        all.push_back(std::move(*trace));
      }
    }
    return all;
  }

  // The one file of a program that ended with status 0.
  gpu::ActivityTrace recorded(const std::vector<std::string>& arguments,
                              const Environment& more = {}) {
    EXPECT_TRUE(run(arguments, more).ok());
    auto all = traces();
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? gpu::ActivityTrace() : std::move(all.front());
  }

  std::filesystem::path folder_;
  gpu::InjectionOptions options_;
};

const gpu::ActivityNote* note_of(const gpu::ActivityTrace& trace, NoteKind kind) {
  const auto found = std::find_if(
      trace.notes.begin(), trace.notes.end(), [&](const auto& note) { return note.kind == kind; });
  return found != trace.notes.end() ? &*found : nullptr;
}

template <class Condition>
bool comes_true(const Condition& condition) {
  const Stopwatch watch;
  while (!condition()) {
    if (watch.seconds() > 30) {
      return false;
    }
    pause_for(std::chrono::milliseconds(2));
  }
  return true;
}

TEST_F(InjectedLibrary, RecordsEveryLaunchWithItsKernelAndItsDevice) {
  const gpu::ActivityTrace trace = recorded({"--steps", "7", "--kernels", "5", "--step-ms", "2"});
  EXPECT_TRUE(trace.complete);
  EXPECT_EQ(trace.program, "fake_cuda_progr");  // as the kernel cuts it
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
  const gpu::ActivityTrace trace = recorded({"--steps", "2", "--kernels", "4", "--fork"});
  EXPECT_TRUE(trace.complete);
  EXPECT_EQ(trace.launches.size(), 8U);
}

TEST_F(InjectedLibrary, AStartedChildHasAFileOfItsOwn) {
  EXPECT_TRUE(run({"--steps", "4", "--kernels", "5", "--child"}).ok());
  const auto all = traces();
  ASSERT_EQ(all.size(), 2U);
  std::set<std::size_t> counts;
  for (const gpu::ActivityTrace& trace : all) {
    EXPECT_TRUE(trace.complete);
    counts.insert(trace.launches.size());
  }
  EXPECT_EQ(counts, (std::set<std::size_t>{6, 20}));
}

TEST_F(InjectedLibrary, SaysWhenAnotherToolHasCupti) {
  const gpu::ActivityTrace trace = recorded({"--steps", "2"}, {{"FAKE_CUPTI_SUBSCRIBED", "1"}});
  EXPECT_TRUE(trace.complete);
  EXPECT_TRUE(trace.launches.empty());
  const gpu::ActivityNote* note = note_of(trace, NoteKind::AlreadySubscribed);
  ASSERT_NE(note, nullptr);
  EXPECT_EQ(note->code, 39);
  EXPECT_NE(note->text.find("another tool"), std::string::npos);
}

TEST_F(InjectedLibrary, SaysWhenCuptiRefuses) {
  const gpu::ActivityTrace trace = recorded({"--steps", "1"}, {{"FAKE_CUPTI_REFUSE", "27"}});
  const gpu::ActivityNote* note = note_of(trace, NoteKind::ActivityRefused);
  ASSERT_NE(note, nullptr);
  EXPECT_EQ(note->code, 27);
}

TEST_F(InjectedLibrary, SaysWhenTheVersionIsNotKnown) {
  const gpu::ActivityTrace trace = recorded({"--steps", "1"}, {{"FAKE_CUPTI_VERSION", "140000"}});
  EXPECT_EQ(trace.start.cupti_version, 0U);
  ASSERT_NE(note_of(trace, NoteKind::NoCupti), nullptr);
  EXPECT_NE(trace.notes[0].text.find("140000"), std::string::npos);
}

TEST_F(InjectedLibrary, SaysWhenAFunctionIsMissing) {
  options_.cupti_library = FAKE_CUPTI_BROKEN;
  const gpu::ActivityTrace trace = recorded({"--steps", "1"});
  const gpu::ActivityNote* note = note_of(trace, NoteKind::NoCupti);
  ASSERT_NE(note, nullptr);
  EXPECT_NE(note->text.find("cuptiActivityFlushAll"), std::string::npos);
}

TEST_F(InjectedLibrary, SaysWhenTheNamedCuptiIsNotThere) {
  options_.cupti_library = folder_ / "libcupti.so.13";
  EXPECT_NE(note_of(recorded({"--steps", "1"}), NoteKind::NoCupti), nullptr);
}

TEST_F(InjectedLibrary, FindsCuptiByTheLoadersSearch) {
  options_.cupti_library.clear();
  const gpu::ActivityTrace trace =
      recorded({"--steps", "2"},
               {{"LD_LIBRARY_PATH", std::filesystem::path(FAKE_CUPTI).parent_path().string()}});
  EXPECT_EQ(trace.launches.size(), 20U);
}

TEST_F(InjectedLibrary, MovesTimesOfAnOlderCuptiToTheMonotonicClock) {
  options_.cupti_library = FAKE_CUPTI_OLD;
  const std::int64_t before = monotonic_ns();
  const gpu::ActivityTrace trace = recorded({"--steps", "5"});
  ASSERT_EQ(trace.launches.size(), 50U);
  EXPECT_GE(trace.launches.front().start_ns, before - 1'000'000);
  EXPECT_LE(trace.launches.back().start_ns, monotonic_ns());
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
  EXPECT_FALSE(child->poll().has_value());  // goes on, unrecorded
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

TEST_F(InjectedLibrary, RecordsTheNamedRangesOfNvtx) {
  options_.nvtx_range = "step";
  EXPECT_EQ(recorded({"--steps", "9", "--nvtx", "step"}).ranges.size(), 9U);
}

TEST_F(InjectedLibrary, LeavesOtherRangesOut) {
  options_.nvtx_range = "another";
  EXPECT_TRUE(recorded({"--steps", "9", "--nvtx", "step"}).ranges.empty());
}

TEST_F(InjectedLibrary, SamplesCountersInSetsOfOnePass) {
  options_.counters = true;
  options_.flush_period = std::chrono::milliseconds(10);
  const gpu::ActivityTrace trace = recorded({"--steps", "300", "--step-ms", "5"});
  EXPECT_EQ(note_of(trace, NoteKind::CountersRefused), nullptr);
  ASSERT_GE(trace.counter_sets.size(), 2U);
  EXPECT_EQ(trace.counter_sets[0].metrics.size(), 8U);
  EXPECT_EQ(trace.counter_sets[0].passes, 1U);
  ASSERT_FALSE(trace.counter_samples.empty());
  std::set<std::uint32_t> sets;
  for (const auto& sample : trace.counter_samples) {
    sets.insert(sample.set);
    EXPECT_EQ(sample.end_ns - sample.start_ns, 1'000'000);
    EXPECT_GE(sample.value, sample.metric);
    EXPECT_LT(sample.value, sample.metric + 1);
  }
  EXPECT_EQ(sets.size(), trace.counter_sets.size());
  EXPECT_EQ(trace.launches.size(), 3000U);
}

TEST_F(InjectedLibrary, SaysWhyThereAreNoCounters) {
  options_.counters = true;
  options_.flush_period = std::chrono::milliseconds(10);
  const gpu::ActivityTrace trace = recorded({"--steps", "100"}, {{"FAKE_CUPTI_NO_COUNTERS", "35"}});
  const gpu::ActivityNote* note = note_of(trace, NoteKind::CountersRefused);
  ASSERT_NE(note, nullptr);
  EXPECT_EQ(note->code, 35);
  EXPECT_NE(note->text.find("cuptiPmSamplingEnable"), std::string::npos);
  EXPECT_EQ(trace.launches.size(), 1000U);
}

TEST_F(InjectedLibrary, AProbeNotesWhatIsSupported) {
  options_.probe = true;
  options_.flush_period = std::chrono::milliseconds(10);
  const gpu::ActivityTrace trace = recorded({"--steps", "100"});
  const auto says = [&](const std::string& words) {
    return std::any_of(trace.notes.begin(), trace.notes.end(), [&](const auto& note) {
      return note.text.find(words) != std::string::npos;
    });
  };
  EXPECT_TRUE(says("GH100"));
  EXPECT_TRUE(says("cuptiProfilerDeviceSupported"));
  EXPECT_TRUE(says("dram__throughput.avg.pct_of_peak_sustained_elapsed: passes 1"));
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
    EXPECT_NE(found.error().message.find("lib/libcarpool_profile.so"), std::string::npos);
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
