// What ProgressWatch keeps of a job. For its own sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpu/cupti/window_file.hpp"
#include "observe/progress_watch.hpp"

namespace carpool::observe {

// Time for all processes to learn of an order, which they look for every quarter of a second.
inline constexpr std::int64_t kLeadNs = 400'000'000;

struct JobProgress {
  struct Counter {
    ProgressCounter port;
    ProgressRate rate;
  };
  struct Window {
    std::uint32_t number = 0;
    double ordered_s = 0.0;
  };
  // The window in which its kernels are recorded.
  struct Kernels {
    std::optional<Window> open{};
    double next_s = 0.0;
    unsigned tries = 0;
    bool settled = false;  // recorded, or given up
  };

  JobId job = 0;
  unsigned attempt = 0;
  std::vector<Counter> counters;
  std::size_t trusted = 0;  // place of the first counter that counts; their number: none does
  std::optional<gpu::WindowFile> file;
  std::optional<Window> open;  // in which launches are counted
  bool owed = false;           // such a window is due, and waits for the one of the kernels
  std::optional<double> launches_per_s;  // by the last such window since its group changed
  double most_per_s = 0.0;               // launches that were counted
  Kernels kernels;
  double changed_s = 0.0;
  bool told = false;
};

[[nodiscard]] inline double seconds_of(std::int64_t ns) {
  constexpr double kNanosecond = 1e-9;
  return static_cast<double>(ns) * kNanosecond;
}

// Some process has not answered yet.
[[nodiscard]] inline bool is_awaited(const gpu::WindowAnswers& answers) {
  return answers.open != 0 || (answers.done == 0 && answers.spoiled == 0 && !answers.refusal);
}

[[nodiscard]] std::string refusal_text(gpu::window_format::State refusal, std::int32_t code);

}  // namespace carpool::observe
