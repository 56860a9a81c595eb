// libcarpool_profile.so and the vendor: versions and refusals of CUPTI, NVTX ranges, counters.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "gpu/cupti/activity_reader.hpp"
#include "injected_library_fixture.hpp"

namespace carpool {
namespace {

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

}  // namespace
}  // namespace carpool
