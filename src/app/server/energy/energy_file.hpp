// The energy of running attempts in the state folder, so that a restart of the server does not lose
// it.
#pragma once

#include <filesystem>
#include <optional>

#include "base/clock.hpp"
#include "schedule/gpus/energy_ledger.hpp"

namespace carpool::app {

// Used by one thread.
class EnergyFile {
 public:
  // Written at least this often while energy is attributed.
  static constexpr double kEvery = 10.0;  // seconds

  explicit EnergyFile(const std::filesystem::path& state, double every_s = kEvery)
      : file_(state / "energy"), every_s_(every_s) {}

  // Empty where there is none. A file that cannot be read costs the energy of the attempts that
  // run, and a warning.
  [[nodiscard]] schedule::EnergyRecord read() const;

  // At once where other attempts run than in the file: what the counters of the GPUs say after a
  // restart is divided among the attempts in the file.
  void keep(const schedule::EnergyRecord& record);

 private:
  std::filesystem::path file_;
  double every_s_;
  std::optional<schedule::EnergyRecord> written_;
  std::optional<Stopwatch> since_written_;
  bool failed_ = false;
};

}  // namespace carpool::app
