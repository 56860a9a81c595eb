#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "app/tests/top_fixtures.hpp"

namespace carpool::app {
namespace {

GpuJob top_job(JobId id, std::string name) {
  return {.id = id,
          .user = "ada",
          .name = std::move(name),
          .mechanism = "mps",
          .run_s = 65.0,
          .used_bytes = 3 * kTopGiB,
          .reserved_bytes = 5 * kTopGiB};
}

// Job 7 has process 20; of job 9 no process is seen.
TopModel two_gpus_with_jobs() {
  TopModel model = two_top_gpus();
  std::vector<GpuReading> gpus = model.gpus;
  gpus[0].jobs = {top_job(7, "resnet"), top_job(9, "bert")};
  gpus[0].processes[1].job = 7;
  gpus[0].processes[1].sm_active = 0.4;
  gpus[0].jobs->back().sm_active = 0.25;
  gpus[1].jobs.emplace();
  show_reading(model, gpus);
  return model;
}

void type_text(TopModel& model, const std::string& text) {
  for (const char letter : text) {
    EXPECT_TRUE(press(model, {TopKey::Other, letter}, 1));
  }
}

TEST(TopModel, AJobWithoutAProcessHasARowOfItsOwn) {
  TopModel model = two_gpus_with_jobs();
  EXPECT_EQ(top_pids(model), (std::vector<std::int64_t>{10, 0, 20, 30}));
  EXPECT_TRUE(press(model, {TopKey::ByJob, 'j'}, 1));
  EXPECT_EQ(top_pids(model), (std::vector<std::int64_t>{20, 0, 10, 30}));
  EXPECT_EQ(sort_named("job"), TopSort::Job);
  const std::string text = top_text(top_view(model, {.columns = 100}, ascii_glyphs()));
  EXPECT_TRUE(top_holds(
      text, "      20  ada             0       7      40         2.0  no   python train.py\n"))
      << text;
  EXPECT_TRUE(
      top_holds(text, "       -  ada             0       9      25         3.0  yes  bert\n"))
      << text;
  EXPECT_TRUE(top_holds(
      text, "      10  ada             1       -       -         4.0  no   python train.py\n"))
      << text;
}

TEST(TopModel, TheFilterIsTypedKeptAndCleared) {
  TopModel model = two_gpus_with_jobs();
  EXPECT_TRUE(press(model, {TopKey::Last}, 1));
  EXPECT_TRUE(press(model, {TopKey::Filter, '/'}, 1));
  type_text(model, "BERTq");
  EXPECT_TRUE(top_pids(model).empty());
  EXPECT_TRUE(top_holds(top_text(top_view(model, {100, 30}, ascii_glyphs())), " /BERTq_"));
  EXPECT_TRUE(press(model, {TopKey::Erase}, 1));
  EXPECT_EQ(top_pids(model), (std::vector<std::int64_t>{0}));
  EXPECT_EQ(model.selected, 0U);
  EXPECT_TRUE(press(model, {TopKey::Enter}, 1));
  EXPECT_FALSE(model.typing);
  EXPECT_TRUE(top_holds(top_text(top_view(model, {100, 30}, ascii_glyphs())), "filter /BERT"));
  EXPECT_TRUE(press(model, {TopKey::Escape}, 1));
  EXPECT_EQ(top_pids(model).size(), 4U);
  EXPECT_FALSE(press(model, {TopKey::Quit, 'q'}, 1));
}

TEST(TopModel, TheFilterLooksAtUserCommandPidAndJob) {
  const TopModel model = two_gpus_with_jobs();
  const TopProcess row = sorted_processes(model)[2];
  for (const char* text : {"", "Ada", "TRAIN", "20", "7", "resnet"}) {
    EXPECT_TRUE(matches(row, text)) << text;
  }
  EXPECT_FALSE(matches(row, "bert"));
}

TEST(TopModel, KCancelsTheJobOfTheRowAfterAQuestion) {
  TopModel model = two_gpus_with_jobs();
  EXPECT_TRUE(press(model, {TopKey::Cancel, 'k'}, 1));  // process 10 belongs to no job
  EXPECT_FALSE(model.asking);
  EXPECT_TRUE(
      top_holds(top_text(top_view(model, {100, 30}, ascii_glyphs())), "No job of the server"));
  EXPECT_TRUE(press(model, {TopKey::Down}, 1));
  EXPECT_TRUE(model.notice.empty());
  EXPECT_TRUE(press(model, {TopKey::Cancel, 'k'}, 1));
  EXPECT_TRUE(top_holds(top_text(top_view(model, {100, 30}, ascii_glyphs())),
                        "Cancel job 9 bert of ada? y: yes, any other key: no"));
  EXPECT_TRUE(press(model, {}, 1));  // no key
  EXPECT_TRUE(model.asking);
  EXPECT_TRUE(press(model, {TopKey::Quit, 'q'}, 1));
  EXPECT_FALSE(model.asking);
  EXPECT_FALSE(model.to_cancel);
  EXPECT_TRUE(press(model, {TopKey::Cancel, 'k'}, 1));
  EXPECT_TRUE(press(model, {TopKey::Other, 'y'}, 1));
  EXPECT_EQ(model.to_cancel, 9);
}

TEST(TopModel, SortsBySmActivityOfProcesses) {
  TopModel model = two_gpus_with_jobs();
  EXPECT_TRUE(press(model, {TopKey::BySm, 's'}, 1));
  // Those that the driver does not tell are last, on the busier GPU first.
  EXPECT_EQ(top_pids(model), (std::vector<std::int64_t>{20, 0, 30, 10}));
}

TEST(TopView, ARowIsShownInDetailWithGraphs) {
  TopModel model = two_gpus_with_jobs();
  show_reading(model, std::vector<GpuReading>(model.gpus));
  EXPECT_TRUE(press(model, {TopKey::Down}, 1));
  EXPECT_TRUE(press(model, {TopKey::Enter}, 1));
  const std::string text = top_text(top_view(model, {100, 30}, ascii_glyphs()));
  EXPECT_TRUE(top_holds(text, "job      9 bert, mps, runs for 1:05\n")) << text;
  EXPECT_TRUE(top_holds(text, "memory   3.0 of 100.0 GiB, 5.0 GiB reserved for the job\n")) << text;
  EXPECT_TRUE(top_holds(text, "SM       25 % of the time of the SMs\n")) << text;
  EXPECT_TRUE(top_holds(text, "SM activity of the job\n")) << text;
  EXPECT_TRUE(top_holds(text, "Memory, share of the GPU\n")) << text;
  EXPECT_TRUE(top_holds(text, "SM activity of the GPU\n")) << text;
  for (std::size_t rows = 1; rows < 60; ++rows) {
    ASSERT_EQ(top_view(model, {80, rows}, unicode_glyphs()).lines.size(), rows);
  }
  EXPECT_TRUE(press(model, {TopKey::Escape}, 1));
  EXPECT_FALSE(model.detail);
  EXPECT_TRUE(press(model, {TopKey::Enter}, 1));
  show_reading(model, {top_gpu(0, 0.5)});
  EXPECT_FALSE(model.detail);
  EXPECT_TRUE(top_holds(model.notice, "has ended"));
}

}  // namespace
}  // namespace carpool::app
