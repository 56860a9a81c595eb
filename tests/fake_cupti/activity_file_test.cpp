#include <cstring>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "gpu/cupti/activity_reader.hpp"

namespace carpool {
namespace {

namespace format = gpu::activity_format;
using format::RecordType;

template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

std::string record(RecordType type, const std::string& payload) {
  return bytes_of(format::RecordHeader{
             static_cast<std::uint16_t>(type), 0, static_cast<std::uint32_t>(payload.size())}) +
         payload;
}

std::string file_start() {
  format::FileStart start;
  start.pid = 42;
  start.cupti_version = 130000;
  start.start_ns = 1000;
  return record(RecordType::FileStart, bytes_of(start) + "train");
}

std::string kernel(std::uint32_t id, const std::string& name) {
  format::Kernel kernel;
  kernel.id = id;
  kernel.grid = {3, 2, 1};
  return record(RecordType::Kernel, bytes_of(kernel) + name);
}

std::string launch_at(std::int64_t start, std::uint32_t kernel_id) {
  format::Launch launch;
  launch.start_ns = start;
  launch.duration_ns = 10;
  launch.kernel = kernel_id;
  return bytes_of(launch);
}

std::string window(std::int64_t at, bool recording) {
  return record(RecordType::Window, bytes_of(format::Window{at, recording ? 1U : 0U, 0}));
}

// A trace with every kind of record.
std::string whole_file() {
  format::Device device;
  device.sm_count = 132;
  device.uuid.fill(0x1F);
  format::MemoryOperation copy;
  copy.start_ns = 1500;
  copy.duration_ns = 1;
  copy.kind = 1;
  const format::Note note{2, 39, 1001};
  const format::CounterSet set{0, 0, 2, 1};
  const format::CounterSample sample{1600, 1700, 0, 1, 42.5};
  return file_start() + window(1100, true) + record(RecordType::Device, bytes_of(device) + "H200") +
         kernel(0, "gemm") + kernel(1, "relu") +
         record(RecordType::Launches, launch_at(1400, 1) + launch_at(1300, 0)) +
         record(RecordType::MemoryOperations, bytes_of(copy)) +
         record(RecordType::Range, bytes_of(format::Range{1200, 1800, 7, 0}) + "step") +
         record(RecordType::Note, bytes_of(note) + "taken") +
         record(RecordType::CounterSet, bytes_of(set) + "a\nb") +
         record(RecordType::CounterSamples, bytes_of(sample)) + window(1900, false) +
         record(RecordType::End, bytes_of(format::End{2000, 2, 0}));
}

std::string refusal_of(const std::string& bytes) {
  const auto trace = gpu::parse_activity(bytes, "a.bin");
  EXPECT_FALSE(trace.has_value());
  return trace ? "" : trace.error().message;
}

TEST(ActivityFile, HoldsEverythingThatIsWrittenSortedByStart) {
  const auto trace = gpu::parse_activity(whole_file(), "a.bin");
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  EXPECT_TRUE(trace->complete);
  EXPECT_EQ(trace->start.pid, 42U);
  EXPECT_EQ(trace->program, "train");
  ASSERT_EQ(trace->devices.size(), 1U);
  EXPECT_EQ(trace->devices[0].name, "H200");
  EXPECT_EQ(trace->devices[0].uuid, "GPU-1f1f1f1f-1f1f-1f1f-1f1f-1f1f1f1f1f1f");
  ASSERT_EQ(trace->launches.size(), 2U);
  EXPECT_EQ(trace->launches[0].start_ns, 1300);
  EXPECT_EQ(trace->kernels[trace->launches[0].kernel].name, "gemm");
  EXPECT_EQ(trace->memory_operations.size(), 1U);
  ASSERT_EQ(trace->ranges.size(), 1U);
  EXPECT_EQ(trace->ranges[0].name, "step");
  ASSERT_EQ(trace->notes.size(), 1U);
  EXPECT_EQ(trace->notes[0].kind, format::NoteKind::AlreadySubscribed);
  EXPECT_EQ(trace->notes[0].code, 39);
  ASSERT_EQ(trace->counter_sets.size(), 1U);
  EXPECT_EQ(trace->counter_sets[0].metrics, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(trace->counter_samples.size(), 1U);
  EXPECT_EQ(trace->counter_samples[0].value, 42.5);
  ASSERT_EQ(trace->windows.size(), 1U);
  EXPECT_EQ(trace->windows[0].start_ns, 1100);
  EXPECT_EQ(trace->windows[0].end_ns, 1900);
  EXPECT_EQ(trace->end->launches, 2U);
}

TEST(ActivityFile, CutOffAnywhereIsReadUpToItsLastWholeRecord) {
  const std::string whole = whole_file();
  const std::size_t first = file_start().size();
  std::size_t launches = 0;
  for (std::size_t length = first; length < whole.size(); ++length) {
    const auto trace = gpu::parse_activity(std::string_view(whole).substr(0, length), "a.bin");
    ASSERT_TRUE(trace.has_value()) << length << ": " << trace.error().message;
    EXPECT_FALSE(trace->complete) << length;
    EXPECT_GE(trace->launches.size(), launches);
    launches = trace->launches.size();
  }
  EXPECT_EQ(launches, 2U);
}

TEST(ActivityFile, AWindowThatWasNeverClosedEndsWithTheLastThingInTheFile) {
  const auto trace = gpu::parse_activity(file_start() + window(1100, true) + kernel(0, "k") +
                                             record(RecordType::Launches, launch_at(1400, 0)),
                                         "a.bin");
  ASSERT_TRUE(trace.has_value());
  ASSERT_EQ(trace->windows.size(), 1U);
  EXPECT_EQ(trace->windows[0].end_ns, 1410);
}

TEST(ActivityFile, DamageIsAnErrorWithTheFileAndTheOffset) {
  const std::string good = file_start() + kernel(0, "k");
  const std::string at = std::to_string(good.size());
  const auto expect = [&](const std::string& bytes, const std::string& words) {
    const std::string message = refusal_of(good + bytes);
    EXPECT_NE(message.find("a.bin"), std::string::npos) << message;
    EXPECT_NE(message.find("at byte " + at), std::string::npos) << message;
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  expect(record(static_cast<RecordType>(99), "x"), "unknown type 99");
  expect(record(RecordType::Launches, launch_at(5, 1)), "reference");
  expect(record(RecordType::Launches, launch_at(-5, 0)), "time");
  expect(record(RecordType::Launches, launch_at(5, 0).substr(1)), "wrong length");
  expect(record(RecordType::Launches, ""), "wrong length");
  expect(kernel(5, "k"), "number");
  expect(file_start(), "second time");
  expect(window(5, false), "window");
  expect(record(RecordType::CounterSet, bytes_of(format::CounterSet{0, 0, 3, 1}) + "a\nb"),
         "a wrong number of names");
  expect(bytes_of(format::RecordHeader{4, 0, format::kMaxRecordBytes + 1}),
         "invalid record header");
  expect(bytes_of(format::RecordHeader{4, 7, 0}), "invalid record header");
}

TEST(ActivityFile, NothingMayFollowItsEnd) {
  EXPECT_NE(refusal_of(whole_file() + window(3000, true)).find("after its end"), std::string::npos);
}

TEST(ActivityFile, OfAnotherKindOrVersionIsRefused) {
  EXPECT_NE(refusal_of("").find("no whole record"), std::string::npos);
  EXPECT_NE(refusal_of(kernel(0, "k")).find("does not begin"), std::string::npos);
  std::string newer = file_start();
  newer[sizeof(format::RecordHeader) + offsetof(format::FileStart, version)] = 9;
  EXPECT_NE(refusal_of(newer).find("version 9"), std::string::npos);
}

TEST(ActivityFile, ThatIsNotThereIsNotFound) {
  const auto trace = gpu::read_activity("/nonexistent/activity.1.bin");
  ASSERT_FALSE(trace.has_value());
  EXPECT_EQ(trace.error().code, ErrorCode::NotFound);
}

}  // namespace
}  // namespace carpool
