#include <limits>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "app/tests/top_fixtures.hpp"

namespace carpool::app {
namespace {

TEST(TopModel, SortsByMemoryByGpuAndByPid) {
  TopModel model = two_top_gpus();
  EXPECT_EQ(top_pids(model), (std::vector<std::int64_t>{10, 20, 30}));
  EXPECT_TRUE(press(model, {TopKey::BySm}, 1));
  EXPECT_EQ(top_pids(model), (std::vector<std::int64_t>{20, 30, 10}));
  EXPECT_TRUE(press(model, {TopKey::ByPid}, 1));
  EXPECT_EQ(top_pids(model), (std::vector<std::int64_t>{10, 20, 30}));
  EXPECT_TRUE(press(model, {TopKey::ByMemory}, 1));
  EXPECT_EQ(model.sort, TopSort::Memory);
  EXPECT_EQ(sort_named("sm"), TopSort::Sm);
  EXPECT_EQ(sort_named("pid"), TopSort::Pid);
  EXPECT_EQ(sort_named("memory"), TopSort::Memory);
}

TEST(TopModel, KeysMoveWithinTheList) {
  TopModel model = two_top_gpus();
  EXPECT_TRUE(press(model, {TopKey::Up}, 1));
  EXPECT_EQ(model.selected, 0U);
  EXPECT_TRUE(press(model, {TopKey::Down}, 1));
  EXPECT_EQ(model.selected, 1U);
  EXPECT_TRUE(press(model, {TopKey::Other}, 1));
  EXPECT_EQ(model.selected, 1U);
  EXPECT_TRUE(press(model, {TopKey::Last}, 1));
  EXPECT_EQ(model.selected, 2U);
  EXPECT_TRUE(press(model, {TopKey::Down}, 1));
  EXPECT_EQ(model.selected, 2U);
  EXPECT_TRUE(press(model, {TopKey::PageUp}, 2));
  EXPECT_EQ(model.selected, 0U);
  EXPECT_TRUE(press(model, {TopKey::PageDown}, 100));
  EXPECT_EQ(model.selected, 2U);
  EXPECT_TRUE(press(model, {TopKey::First}, 1));
  EXPECT_EQ(model.selected, 0U);
  EXPECT_FALSE(press(model, {TopKey::Quit}, 1));
}

TEST(TopModel, TheSelectionStaysInAListThatShrinks) {
  TopModel model = two_top_gpus();
  EXPECT_TRUE(press(model, {TopKey::Last}, 1));
  show_reading(model, {top_gpu(0, 0.5)});
  EXPECT_EQ(model.selected, 0U);
  EXPECT_TRUE(press(model, {TopKey::Down}, 1));
  EXPECT_EQ(model.selected, 0U);
}

TEST(TopModel, WithoutSmCountersUtilisationReplacesThem) {
  GpuReading reading = top_gpu(0, 0.5);
  EXPECT_TRUE(how_busy(reading).fine);
  reading.activity.reset();
  EXPECT_FALSE(how_busy(reading).fine);
  EXPECT_EQ(how_busy(reading).share, 0.9);
  reading.sample.reset();
  EXPECT_EQ(how_busy(reading).share, std::nullopt);
}

TEST(TopParts, BarsAreAsLongAsTheirShare) {
  const auto drawn = [](std::optional<double> share) {
    return plain_text(bar(share, 8, Tone::Good, ascii_glyphs()));
  };
  EXPECT_EQ(drawn(0.5), "####....");
  EXPECT_EQ(drawn(7.0), "########");
  EXPECT_EQ(drawn(-1.0), "........");
  EXPECT_EQ(drawn(std::nullopt), "........");
  EXPECT_EQ(drawn(std::numeric_limits<double>::quiet_NaN()), "........");
}

TEST(TopParts, GraphsGrowFromTheBottomWithTheNewestAtTheRight) {
  const std::vector<double> values{0.0, 0.5, 1.0, std::numeric_limits<double>::infinity()};
  EXPECT_EQ(graph(values, 6, 2, unicode_glyphs()), (std::vector<std::string>{"    █ ", "   ██ "}));
  EXPECT_EQ(graph(values, 2, 1, unicode_glyphs()), (std::vector<std::string>{"█ "}));
  EXPECT_TRUE(graph(values, 2, 0, unicode_glyphs()).empty());
}

TEST(TopParts, LinesAreCutAndFilledByCharactersNotBytes) {
  const Line line{{"50 °C"}, {"more", Tone::Alarm}};
  EXPECT_EQ(plain_text(fitted(line, 4)), "50 °");
  EXPECT_EQ(line_width(fitted(line, 4)), 4U);
  EXPECT_EQ(line_width(fitted(line, 40)), 40U);
  EXPECT_EQ(line_width(fitted({}, 3)), 3U);
}

TEST(TopView, APrintOutHasBarsValuesAndAllProcesses) {
  const std::string text = top_text(top_view(two_top_gpus(), {.columns = 100}, ascii_glyphs()));
  EXPECT_TRUE(top_holds(text, "carpool top  2 GPUs"));
  EXPECT_TRUE(top_holds(text, " 80 %")) << text;
  EXPECT_TRUE(top_holds(text, "25.0 / 100.0 GiB")) << text;
  EXPECT_TRUE(top_holds(text, "350 / 700 W")) << text;
  EXPECT_TRUE(
      top_holds(text, "      10  ada             1       -         4.0  no   python train.py\n"))
      << text;
  EXPECT_FALSE(top_holds(text, "q quit")) << text;
}

TEST(TopView, APrintOutWithoutATerminalCutsNothing) {
  const std::string text =
      top_text(top_view(two_top_gpus(), {.columns = 30, .whole_lines = true}, ascii_glyphs()));
  EXPECT_TRUE(top_holds(text, "no   python train.py\n")) << text;
}

ShimClient client(pid_t pid, std::uint64_t gib) {
  ShimClient added;
  added.seen.pid = pid;
  added.seen.name = "trainer";
  added.seen.job = 7;
  added.seen.used_bytes = gib * kTopGiB;
  return added;
}

TEST(TopView, ShowsTheClientsOfTheLibrary) {
  GpuReading reading = top_gpu(0, 0.5);
  reading.clients = {client(50, 1), client(40, 2)};
  reading.clients[0].limit_bytes = 3 * kTopGiB;
  reading.clients[0].rates = {.launches = 1234.4, .graph_launches = 5.0, .copies = 0.0};
  reading.clients[0].seen.refusals = 2;
  reading.clients[1].seen.orphaned = true;
  TopModel model;
  show_reading(model, {reading});
  const std::string text = top_text(top_view(model, {.columns = 110}, ascii_glyphs()));
  EXPECT_TRUE(top_holds(
      text,
      "     PID  CLIENT        GPU     JOB   LAUNCH/S   GRAPH/S   COPY/S  MEM/LIMIT [GiB]  "
      "REFUSED\n"
      "      40  trainer         0       7          -         -        -          2.0 / -        0"
      "  orphaned\n"
      "      50  trainer         0       7       1234         5        0        1.0 / 3.0        2"
      "\n\n"))
      << text;
}

TEST(TopView, ClientsLeaveRoomForTheRest) {
  GpuReading crowded = top_gpu(0, 0.5);
  crowded.processes = {top_process(30, 1)};
  for (int i = 0; i < 50; ++i) {
    crowded.clients.push_back(client(100 + i, 1));
  }
  TopModel model;
  show_reading(model, {crowded});
  for (std::size_t rows = 1; rows < 60; ++rows) {
    const TopView view = top_view(model, {100, rows}, unicode_glyphs());
    ASSERT_EQ(view.lines.size(), rows);
    if (rows >= 8) {
      EXPECT_TRUE(top_holds(top_text(view), "python train.py")) << rows << "\n" << top_text(view);
    }
  }
  EXPECT_TRUE(top_holds(top_text(top_view(model, {100, 40}, ascii_glyphs())), "41 more clients"));
}

TEST(ShimClients, RatesAreDifferencesByTime) {
  interpose::ClientReport before;
  before.launches = 100;
  interpose::ClientReport now = before;
  now.launches = 300;
  now.copies = 1;
  EXPECT_DOUBLE_EQ(rates_between(before, now, 2.0).launches, 100.0);
  EXPECT_DOUBLE_EQ(rates_between(before, now, 2.0).copies, 0.5);
  EXPECT_DOUBLE_EQ(rates_between(now, before, 2.0).launches, 0.0);
  EXPECT_DOUBLE_EQ(rates_between(before, now, 0.0).launches, 0.0);
}

TEST(ShimClients, JobsAreCalledByTheirOrigin) {
  EXPECT_EQ(job_label(7), "7");
  EXPECT_EQ(job_label((std::uint64_t{1} << 40U) + 7), "run");
  EXPECT_EQ(job_label((std::uint64_t{1} << 63U) + 7), "-");
}

TEST(TopView, FillsTheScreenExactlyWhateverItsSize) {
  TopModel model = two_top_gpus();
  for (int i = 0; i < 40; ++i) {
    show_reading(model, std::vector<GpuReading>(model.gpus));
  }
  for (std::size_t rows = 1; rows < 60; ++rows) {
    for (const std::size_t columns : {1U, 7U, 30U, 79U, 80U, 200U}) {
      const TopView view = top_view(model, {columns, rows}, unicode_glyphs());
      ASSERT_EQ(view.lines.size(), rows) << columns;
      for (const Line& line : view.lines) {
        ASSERT_EQ(line_width(line), columns) << rows << ": " << plain_text(line);
      }
    }
  }
}

TEST(TopView, ManyGpusGetALineEachAndTheRestIsCounted) {
  TopModel model;
  show_reading(model, std::vector<GpuReading>(16, top_gpu(0, 0.5)));
  const std::string tall = top_text(top_view(model, {100, 40}, ascii_glyphs()));
  EXPECT_FALSE(top_holds(tall, "more GPUs")) << tall;
  const std::string flat = top_text(top_view(model, {100, 15}, ascii_glyphs()));
  EXPECT_TRUE(top_holds(flat, "9 more GPUs")) << flat;
  EXPECT_TRUE(top_holds(flat, "PID")) << flat;
}

TEST(TopView, ScrollsToTheSelectedProcess) {
  GpuReading crowded = top_gpu(0, 0.5);
  for (int i = 0; i < 50; ++i) {
    crowded.processes.push_back(top_process(100 + i, 1));
  }
  TopModel model;
  model.sort = TopSort::Pid;
  show_reading(model, {crowded});
  EXPECT_TRUE(press(model, {TopKey::Last}, 1));
  const TopView view = top_view(model, {100, 24}, ascii_glyphs());
  EXPECT_TRUE(top_holds(top_text(view), "     149  ada"));
  EXPECT_FALSE(top_holds(top_text(view), "     100  ada"));
  EXPECT_GT(view.page, 3U);
  EXPECT_LT(view.page, 50U);
  std::size_t chosen = 0;
  for (const Line& line : view.lines) {
    for (const Piece& piece : line) {
      chosen += piece.tone == Tone::Chosen ? 1U : 0U;
    }
  }
  EXPECT_EQ(chosen, 2U);  // the row and the blanks behind it
}

TEST(TopView, ALostGpuShowsItsProblemBesideTheOthers) {
  GpuReading lost;
  lost.info.index = 1;
  lost.problem = "the GPU is lost";
  TopModel model;
  show_reading(model, {top_gpu(0, 0.5), lost});
  const std::string text = top_text(top_view(model, {100, 40}, ascii_glyphs()));
  EXPECT_TRUE(top_holds(text, "the GPU is lost")) << text;
  EXPECT_TRUE(top_holds(text, "350 / 700 W")) << text;
}

TEST(TopView, AMachineWithoutAGpuHasAScreen) {
  TopModel model;
  show_reading(model, {});
  EXPECT_TRUE(top_holds(top_text(top_view(model, {80, 24}, ascii_glyphs())), "0 GPUs"));
}

}  // namespace
}  // namespace carpool::app
