// Finds the steps of a program that does not report them, by the repetition of its launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace carpool::profile {

// One launch or copy. The caller gives equal ones the same id.
struct StepEvent {
  std::uint32_t id = 0;  // dense: from 0 on
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
};

// A repetition of the events.
struct Period {
  double events = 0.0;              // launches and copies of one period
  double seconds = 0.0;             // mean length
  std::size_t count = 0;            // whole periods seen
  double confidence = 0.0;          // 0 to 1
  std::vector<std::int64_t> marks;  // starts of the periods
};

// Events are sorted by start. The first period is the step: the outermost period with substantial
// work of its own (a step, not its layers; a text, not its tokens), but not one that adds next to
// nothing to an inner period (a line printed every ten steps). The others follow, outermost first.
// Empty if nothing repeats at least three times.
[[nodiscard]] std::vector<Period> find_periods(std::span<const StepEvent> events);

}  // namespace carpool::profile
