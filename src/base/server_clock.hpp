// The clock of a server: seconds since 1970 in shape, but steady. It runs with the time since the
// machine started, so that setting the wall clock shortens no limit and stretches no wait, and a
// server that restarts continues the time of the one before.
#pragma once

#include <filesystem>
#include <functional>
#include <limits>
#include <string>

namespace carpool {

// Turns times of a server into what the wall clock of the machine would have shown, had it been
// right all the time.
struct ShownTime {
  double from_s = std::numeric_limits<double>::infinity();  // earlier times are shown as recorded
  double shift_s = 0.0;
  [[nodiscard]] double operator()(double at_s) const {
    return at_s >= from_s ? at_s + shift_s : at_s;
  }
};

// What the clock reads; tests replace it.
struct ClockReadings {
  std::function<double()> wall{};  // seconds since 1970; may jump
  std::function<double()> boot{};  // seconds since the machine started
  std::string boot_id{};           // differs at each start of the machine
};
[[nodiscard]] ClockReadings machine_readings();

// Reading it is thread-safe.
class ServerClock {
 public:
  // Continues the time that `file` keeps of an earlier server, if the machine did not start again
  // since; else begins with the wall clock.
  [[nodiscard]] static ServerClock kept_in(std::filesystem::path file,
                                           ClockReadings readings = machine_readings());
  // Begins with the wall clock and runs `speed` times as fast as the machine; nothing is kept.
  [[nodiscard]] static ServerClock unkept(double speed = 1.0,
                                          ClockReadings readings = machine_readings());

  [[nodiscard]] double now_s() const;
  // The time becomes at least this, which an earlier server had reached. Before other threads read
  // the clock.
  void not_before(double at_s);
  [[nodiscard]] ShownTime shown() const;

 private:
  ServerClock(std::filesystem::path file, ClockReadings readings, double speed);
  [[nodiscard]] bool read();
  void write() const;

  std::filesystem::path file_;  // empty: none
  ClockReadings readings_;
  double speed_;
  double base_s_ = 0.0;     // the time when ...
  double base_boot_ = 0.0;  // ... this many seconds had passed since the machine started
  double from_s_ = 0.0;     // the first time since the machine started
};

}  // namespace carpool
