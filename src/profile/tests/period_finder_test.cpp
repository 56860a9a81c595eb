#include "profile/steps/period_finder.hpp"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace carpool::profile {
namespace {

constexpr std::int64_t kMicrosecond = 1000;

// Appends launches back to back, 8 us of work and 2 us of pause each.
class Program {
 public:
  Program& launch(std::uint32_t id, std::int64_t busy_us = 8) {
    events_.push_back({id, now_, busy_us * kMicrosecond});
    now_ += (busy_us + 2) * kMicrosecond;
    return *this;
  }
  Program& wait(std::int64_t microseconds) {
    now_ += microseconds * kMicrosecond;
    return *this;
  }
  [[nodiscard]] const std::vector<StepEvent>& events() const { return events_; }

 private:
  std::int64_t now_ = 1'000'000;
  std::vector<StepEvent> events_;
};

// A training step: embedding, layers forward and backward, an optimizer.
void training_step(Program& program, std::uint32_t layers) {
  program.launch(0).launch(1);
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    for (std::uint32_t kernel = 10; kernel < 20; ++kernel) {
      program.launch(kernel);
    }
  }
  program.launch(2);
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    for (std::uint32_t kernel = 20; kernel < 40; ++kernel) {
      program.launch(kernel);
    }
  }
  for (int chunk = 0; chunk < 8; ++chunk) {
    program.launch(3).launch(4);
  }
}

TEST(PeriodFinder, FindsTheStepAndNotItsLayers) {
  Program program;
  for (int step = 0; step < 25; ++step) {
    training_step(program, 12);
  }
  const auto found = find_periods(program.events());
  ASSERT_FALSE(found.empty());
  const double launches = 2 + 12 * 10 + 1 + 12 * 20 + 16;
  EXPECT_EQ(found.front().events, launches);
  EXPECT_NEAR(found.front().seconds, launches * 10e-6, 1e-9);
  EXPECT_EQ(found.front().count, 24U);
  EXPECT_EQ(found.front().marks.size(), 25U);
  EXPECT_GT(found.front().confidence, 0.9);
}

TEST(PeriodFinder, FindsAnInferenceStepOfManyLayersByItsHead) {
  Program program;
  for (int step = 0; step < 20; ++step) {
    program.launch(0).launch(1).launch(2);
    for (int layer = 0; layer < 48; ++layer) {
      for (std::uint32_t kernel = 10; kernel < 22; ++kernel) {
        program.launch(kernel);
      }
    }
    program.launch(3).launch(4).launch(5).launch(6, 200);
  }
  const auto found = find_periods(program.events());
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().events, 7 + 48 * 12);
}

TEST(PeriodFinder, ChoosesTheTextAndOffersTheToken) {
  Program program;
  for (int text = 0; text < 6; ++text) {
    for (std::uint32_t kernel = 100; kernel < 140; ++kernel) {
      program.launch(kernel, 30);
    }
    for (int token = 0; token < 16; ++token) {
      for (std::uint32_t kernel = 0; kernel < 40; ++kernel) {
        program.launch(kernel);
      }
    }
  }
  const auto found = find_periods(program.events());
  ASSERT_GE(found.size(), 2U);
  EXPECT_EQ(found[0].events, 40 + 16 * 40);
  EXPECT_EQ(found[1].events, 40);
  EXPECT_EQ(found[1].marks.size(), 96U);
}

TEST(PeriodFinder, ALineEveryTenStepsIsNoStep) {
  Program program;
  for (int step = 0; step < 60; ++step) {
    training_step(program, 6);
    if (step % 10 == 9) {
      program.launch(50).launch(51);
    }
  }
  const auto found = find_periods(program.events());
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().events, 2 + 60 + 1 + 120 + 16);
  EXPECT_GE(found.front().count, 58U);
}

TEST(PeriodFinder, AFirstStepThatIsLongerAndStepsThatVaryDoNoHarm) {
  Program program;
  std::mt19937 random(7);
  for (std::uint32_t tried = 0; tried < 500; ++tried) {
    program.launch(60 + tried % 7);
  }
  for (int step = 0; step < 30; ++step) {
    training_step(program, 8);
    for (unsigned extra = 0; extra < random() % 4; ++extra) {
      program.launch(70 + static_cast<std::uint32_t>(random() % 3));
    }
    program.wait(static_cast<std::int64_t>(random() % 500));
  }
  const auto found = find_periods(program.events());
  ASSERT_FALSE(found.empty());
  EXPECT_NEAR(found.front().events, 2 + 80 + 1 + 160 + 16, 4);
  EXPECT_EQ(found.front().count, 29U);
}

TEST(PeriodFinder, OneKernelInALoopHasAPeriodOfOne) {
  Program program;
  for (int i = 0; i < 1000; ++i) {
    program.launch(0);
  }
  const auto found = find_periods(program.events());
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().events, 1.0);
  EXPECT_NEAR(found.front().seconds, 10e-6, 1e-9);
}

TEST(PeriodFinder, PausesShowTheStepsOfOneKernel) {
  Program program;
  for (int step = 0; step < 40; ++step) {
    for (int i = 0; i < 25; ++i) {
      program.launch(0);
    }
    program.wait(60);
  }
  const auto found = find_periods(program.events());
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().events, 25.0);
}

TEST(PeriodFinder, ALostLaunchIsCountedAsTwoPeriodsTogether) {
  Program program;
  for (int step = 0; step < 40; ++step) {
    for (std::uint32_t kernel = step == 20 ? 1 : 0; kernel < 50; ++kernel) {
      program.launch(kernel);
    }
  }
  const auto found = find_periods(program.events());
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().events, 50.0);
  EXPECT_GE(found.front().count, 38U);
  EXPECT_NEAR(found.front().seconds, 500e-6, 2e-6);
}

TEST(PeriodFinder, WhatNeverRepeatsHasNone) {
  Program program;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    program.launch(i);
  }
  EXPECT_TRUE(find_periods(program.events()).empty());
  EXPECT_TRUE(find_periods({}).empty());
}

TEST(PeriodFinder, ChanceIsNoPeriod) {
  Program program;
  std::mt19937 random(11);
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    program.launch(static_cast<std::uint32_t>(random() % 40));
  }
  for (const Period& period : find_periods(program.events())) {
    EXPECT_LT(period.confidence, 0.6);
  }
}

}  // namespace
}  // namespace carpool::profile
