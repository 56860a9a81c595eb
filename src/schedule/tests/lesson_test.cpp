#include "schedule/advice/lesson.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "schedule/explain.hpp"
#include "schedule/tests/stubs.hpp"

namespace carpool::schedule {
namespace {

// Believes the same of all workloads.
class OneBelief final : public InterferenceModel {
 public:
  [[nodiscard]] std::vector<double> progress(
      std::span<const InterferenceMember> group) const override {
    return std::vector<double>(group.size(), 1.0);
  }
  [[nodiscard]] std::optional<double> sm_active(const std::string& /*workload*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] bool knows(const std::string& /*workload*/) const override { return true; }
  [[nodiscard]] std::optional<WorkloadBelief> belief(
      const std::string& /*workload*/) const override {
    return known;
  }
  WorkloadBelief known{.sm_active = 0.35, .assumed_sm_active = 0.35};
};

bool some_begins(const std::vector<std::string>& lines, const std::string& with) {
  return std::ranges::any_of(lines,
                             [&](const std::string& line) { return line.starts_with(with); });
}

TEST(Lesson, OfAWaitingJobSaysWhatIsAssumedAndWhichCommandStartsIt) {
  StubServer server;
  server.submit(stub_job(12));
  JobSpec unknown{.argv = {"other"}};
  const JobId job = server.submit(unknown);
  server.step(0.0);
  const auto why = explain(*server.scheduler, job);
  ASSERT_TRUE(why->lesson);
  EXPECT_TRUE(some_begins(why->lesson->assumed, "memory: not known"));
  EXPECT_TRUE(some_begins(why->lesson->assumed, "activity: 70 % of a GPU, until"));
  EXPECT_TRUE(some_begins(why->lesson->assumed, "run time: as usual"));
  EXPECT_TRUE(some_begins(why->lesson->changes, "`carpool update --mem SIZE 2`"));
  EXPECT_TRUE(some_begins(why->lesson->changes, "a second run"));
  EXPECT_EQ(why->lesson->command, "carpool update --mem 28G 2");
  EXPECT_EQ(why->changes.front().words, "state its memory, if 28 GiB are enough: it starts now");
}

TEST(Lesson, OfARunningJobEndsWhenItsPeakIsKnown) {
  StubServer server;
  const JobId job = server.submit(JobSpec{.argv = {"other"}});
  server.step(0.0);
  const auto first = explain(*server.scheduler, job);
  ASSERT_TRUE(first->lesson);
  EXPECT_TRUE(some_begins(first->lesson->assumed, "memory: not known; 40 GiB are reserved for it"));
  EXPECT_FALSE(some_begins(first->lesson->assumed, "run time"));
  EXPECT_EQ(first->lesson->command, "carpool knowledge");
  for (int i = 1; i < 60; ++i) {
    server.see({{job, 4}}, i);
  }
  const auto later = explain(*server.scheduler, job);
  EXPECT_FALSE(later->lesson && some_begins(later->lesson->assumed, "memory"));
}

TEST(Lesson, IsOmittedWhereNothingIsMissing) {
  OneBelief model;
  JobRecord record{.id = 7};
  QueuedJob view{.need_bytes = kGiB, .need_basis = NeedBasis::Told, .runtime_s = 60.0};
  EXPECT_TRUE(some_begins(lesson_of({.job = record, .view = view, .interference = model})->assumed,
                          "activity: 35 %"));
  model.known.measured_s = 40.0;
  EXPECT_FALSE(lesson_of({.job = record, .view = view, .interference = model}));
  model.known.alone = true;
  const auto slow = lesson_of({.job = record, .view = view, .interference = model});
  ASSERT_TRUE(slow);
  EXPECT_TRUE(some_begins(slow->changes, "carpool.step()"));
  model.known.solo_rate = 3.0;
  EXPECT_FALSE(lesson_of({.job = record, .view = view, .interference = model}));
  view.runtime_s.reset();
  EXPECT_TRUE(lesson_of({.job = record, .view = view, .interference = model}));
  view.runtime_s = 60.0;
  view.need_basis = NeedBasis::Unknown;
  EXPECT_TRUE(lesson_of({.job = record, .view = view, .interference = model}));
  view.exclusive = true;  // it gets a whole GPU, whatever it needs
  EXPECT_FALSE(lesson_of({.job = record, .view = view, .interference = model}));
  view.exclusive = false;
  record.ended_s = 1.0;
  EXPECT_FALSE(lesson_of({.job = record, .view = view, .interference = model}));
}

}  // namespace
}  // namespace carpool::schedule
