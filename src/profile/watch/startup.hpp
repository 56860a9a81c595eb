// Detects the end of a program's start-up: it keeps the GPU busy without long breaks, or reports
// steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace carpool::profile {

// Observations of the program at one moment.
struct ProgramSigns {
  std::uint64_t launches = 0;    // recorded so far; 0 without recording
  std::uint64_t steps = 0;       // reported by carpool.step()
  bool reports_steps = false;    // it uses carpool.step()
  double gpu_utilisation = 0.0;  // of the GPU, 0 to 1
};

// Used by one thread. The caller hands in the time.
class StartupWatch {
 public:
  // Whether it has started up.
  bool look(std::int64_t now_ns, const ProgramSigns& signs);

  // It has used the GPU.
  [[nodiscard]] bool saw_work() const { return first_work_ns_.has_value(); }

 private:
  void close_span(std::int64_t now_ns, const ProgramSigns& signs);

  std::int64_t span_began_ns_ = 0;
  std::uint64_t launches_before_ = 0;
  std::deque<bool> spans_;  // whether each of the last spans had work
  std::optional<std::int64_t> first_work_ns_;
};

}  // namespace carpool::profile
