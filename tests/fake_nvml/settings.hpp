// Settings of the fake driver: lines "key = value" of the file that CARPOOL_FAKE_NVML names, read
// at each call, so that a test can change them while a program runs. "#" starts a comment.
//
//   gpus, driver                             of the machine
//   name, uuid, memory_total, memory_used,   of all GPUs; with the prefix "gpu1.", of one
//   utilization, memory_utilization (%),
//   power_mw, energy_mj, sm_clock, memory_clock, temperature, clock_reasons, compute_mode,
//   gpm (0, 1), gpm.ID (value of metric ID, "-": not supported), mig (profiles, separated by
//   blanks), processes, mps_processes (PID:BYTES, separated by blanks; BYTES "-": unknown)
//   ecc_corrected, ecc_uncorrected, xids (numbers), sm_of (PID:PERCENT)
//   fail.FUNCTION                            the code that this function returns
#pragma once

#include <map>
#include <string>
#include <vector>

namespace fake_nvml {

class Settings {
 public:
  // The settings of the file, or none: each value has a default where it is used.
  [[nodiscard]] static Settings current();
  // Digits that differ by the name of the file.
  [[nodiscard]] static std::string machine();

  [[nodiscard]] std::string text(const std::string& key, const std::string& fallback) const;
  [[nodiscard]] unsigned long long number(const std::string& key,
                                          unsigned long long fallback) const;

  // Of one GPU: "gpu1.key", else "key".
  [[nodiscard]] std::string text_of(unsigned gpu,
                                    const std::string& key,
                                    const std::string& fallback) const;
  [[nodiscard]] unsigned long long number_of(unsigned gpu,
                                             const std::string& key,
                                             unsigned long long fallback) const;
  [[nodiscard]] std::vector<std::string> words_of(unsigned gpu, const std::string& key) const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace fake_nvml
