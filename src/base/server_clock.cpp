#include "base/server_clock.hpp"

#include <cmath>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/files/file.hpp"
#include "base/log.hpp"
#include "base/process/process_table.hpp"

namespace carpool {
namespace {

// Smaller differences are those between two readings.
constexpr double kSameTime = 1.0;
constexpr double kShownStep = 1e-3;

}  // namespace

ClockReadings machine_readings() {
  return {.wall = epoch_seconds, .boot = boot_seconds, .boot_id = boot_id()};
}

ServerClock::ServerClock(std::filesystem::path file, ClockReadings readings, double speed)
    : file_(std::move(file)),
      readings_(std::move(readings)),
      speed_(speed),
      base_s_(readings_.wall()),
      base_boot_(readings_.boot()),
      from_s_(base_s_) {}

ServerClock ServerClock::kept_in(std::filesystem::path file, ClockReadings readings) {
  ServerClock clock(std::move(file), std::move(readings), 1.0);
  if (!clock.read()) {
    clock.write();
  }
  return clock;
}

ServerClock ServerClock::unkept(double speed, ClockReadings readings) {
  return {{}, std::move(readings), speed};
}

double ServerClock::now_s() const {
  return base_s_ + (readings_.boot() - base_boot_) * speed_;
}

void ServerClock::not_before(double at_s) {
  const double missing_s = at_s - now_s();
  if (missing_s > 0.0) {
    base_s_ += missing_s;
    from_s_ = at_s;
    write();
  }
}

ShownTime ServerClock::shown() const {
  const double shift_s = readings_.wall() - now_s();
  if (speed_ != 1.0 || std::abs(shift_s) < kSameTime) {
    return {};
  }
  return {.from_s = from_s_, .shift_s = std::round(shift_s / kShownStep) * kShownStep};
}

// False: there is nothing of this boot.
bool ServerClock::read() {
  const Result<std::string> text = read_file(file_);
  if (!text) {
    return false;
  }
  std::istringstream words(*text);
  std::string boot;
  double base_s = 0.0;
  double base_boot = 0.0;
  double from_s = 0.0;
  if (!(words >> boot >> base_s >> base_boot >> from_s) || !std::isfinite(base_s) ||
      !std::isfinite(base_boot) || !std::isfinite(from_s)) {
    log_warning(fmt::format("{}: damaged; times begin with the wall clock", file_.string()));
    return false;
  }
  if (boot != readings_.boot_id) {
    return false;
  }
  base_s_ = base_s;
  base_boot_ = base_boot;
  from_s_ = from_s;
  return true;
}

// A server that cannot write it works; the next one begins with the wall clock.
void ServerClock::write() const {
  if (file_.empty() || readings_.boot_id.empty()) {
    return;
  }
  const auto written = write_private_file(
      file_,
      fmt::format("{} {:.6f} {:.6f} {:.6f}\n", readings_.boot_id, base_s_, base_boot_, from_s_));
  if (!written) {
    log_warning(written.error().message);
  }
}

}  // namespace carpool
