// Steps of a program that says nothing about them: what it launches repeats itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace carpool::profile {

// One launch or copy. Which of them are the same is for the caller to say.
struct StepEvent {
  std::uint32_t id = 0;  // dense: from 0 on
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
};

// One way in which the events repeat.
struct Period {
  double events = 0.0;              // launches and copies of one period
  double seconds = 0.0;             // that it takes, mean
  std::size_t count = 0;            // whole periods seen
  double confidence = 0.0;          // 0 to 1
  std::vector<std::int64_t> marks;  // when periods began
};

// Events are sorted by start. The first is the step: the outermost period that something of weight
// happens once in (a step and not its layers, a text and not its tokens), but not one that differs
// from an inner one by next to nothing (a line printed every ten steps). Others follow, outermost
// first. Empty when nothing repeats at least three times.
[[nodiscard]] std::vector<Period> find_periods(std::span<const StepEvent> events);

}  // namespace carpool::profile
