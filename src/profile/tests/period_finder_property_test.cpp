// Random programs: the finder finds their steps.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "profile/steps/period_finder.hpp"

namespace carpool::profile {
namespace {

struct Clocked {
  std::vector<StepEvent> events;
  std::int64_t now = 0;
  void launch(std::uint32_t id) {
    events.push_back({id, now, 8000});
    now += 10'000;
  }
};

RC_GTEST_PROP(PeriodFinderProperty, FindsTheStepOfAnyProgramWithLayers, ()) {
  const auto head = *rc::gen::inRange<std::uint32_t>(8, 20);
  const auto layers = *rc::gen::inRange<std::uint32_t>(1, 24);
  const auto layer = *rc::gen::inRange<std::uint32_t>(1, 30);
  const auto steps = *rc::gen::inRange<int>(8, 40);
  Clocked program;
  for (int step = 0; step < steps; ++step) {
    for (std::uint32_t kernel = 0; kernel < head; ++kernel) {
      program.launch(kernel);
    }
    for (std::uint32_t i = 0; i < layers; ++i) {
      for (std::uint32_t kernel = 0; kernel < layer; ++kernel) {
        program.launch(100 + kernel);
      }
    }
  }
  const auto found = find_periods(program.events);
  RC_ASSERT(!found.empty());
  RC_ASSERT(found.front().events == head + layers * layer);
}

RC_GTEST_PROP(PeriodFinderProperty, NoiseMovesTheRateByLittle, ()) {
  const auto kernels = *rc::gen::inRange<std::uint32_t>(40, 200);
  const auto steps = *rc::gen::inRange<int>(20, 60);
  // One in a hundred launches is lost, one in a hundred is followed by a stray one.
  const auto dice = *rc::gen::container<std::vector<std::uint8_t>>(
      static_cast<std::size_t>(kernels) * static_cast<std::size_t>(steps),
      rc::gen::inRange<std::uint8_t>(0, 100));
  Clocked program;
  std::size_t at = 0;
  for (int step = 0; step < steps; ++step) {
    for (std::uint32_t kernel = 0; kernel < kernels; ++kernel) {
      const std::uint8_t thrown = dice[at++];
      if (thrown != 99) {
        program.launch(kernel);
      }
      if (thrown == 98) {
        program.launch(1000 + kernel % 3);
      }
    }
  }
  const auto found = find_periods(program.events);
  RC_ASSERT(!found.empty());
  const double expected = kernels * 10e-6;
  RC_ASSERT(found.front().seconds > 0.95 * expected);
  RC_ASSERT(found.front().seconds < 1.05 * expected);
}

RC_GTEST_PROP(PeriodFinderProperty, AnySequenceGivesPeriodsThatFitInIt, ()) {
  const auto ids =
      *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 6));
  Clocked program;
  for (const std::uint32_t id : ids) {
    program.launch(id);
  }
  for (const Period& period : find_periods(program.events)) {
    RC_ASSERT(period.confidence >= 0.0 && period.confidence <= 1.0);
    RC_ASSERT(period.events >= 1.0 && period.events <= static_cast<double>(ids.size()));
    RC_ASSERT(period.seconds > 0.0);
  }
}

}  // namespace
}  // namespace carpool::profile
