// When has a program started up? When it keeps the GPU at work without long breaks, or says so by
// its steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace carpool::profile {

// What is known of the program at one moment.
struct ProgramSigns {
  std::uint64_t launches = 0;    // recorded so far; 0 as well where none are recorded
  std::uint64_t steps = 0;       // told by carpool.step()
  bool tells_steps = false;      // it has said that it will
  double gpu_utilisation = 0.0;  // of the GPU, 0 to 1
};

// Used by one thread. The caller hands in the time.
class StartupWatch {
 public:
  // Whether it has started up by now.
  bool look(std::int64_t now_ns, const ProgramSigns& signs);

  // It has been seen at work on the GPU.
  [[nodiscard]] bool saw_work() const { return first_work_ns_.has_value(); }

 private:
  void close_span(std::int64_t now_ns, const ProgramSigns& signs);

  std::int64_t span_began_ns_ = 0;
  std::uint64_t launches_before_ = 0;
  std::deque<bool> spans_;  // whether there was work in each of the last ones
  std::optional<std::int64_t> first_work_ns_;
};

}  // namespace carpool::profile
