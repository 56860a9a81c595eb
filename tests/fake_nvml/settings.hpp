// What the fake driver pretends: lines "key = value" of the file that CARPOOL_FAKE_NVML names, read
// at every call, so that a test can change it under a running program. "#" begins a comment.
//
//   gpus, driver                             of the machine
//   name, uuid, memory_total, memory_used,   of every GPU; with "gpu1." before it, of that one
//   utilization, memory_utilization (%),
//   power_mw, energy_mj, sm_clock, memory_clock, temperature, clock_reasons, compute_mode,
//   gpm (0, 1), gpm.ID (metric ID's value, "-": not supported), mig (profiles, blank between),
//   processes, mps_processes (PID:BYTES, blank between; BYTES "-": not told)
//   fail.FUNCTION                            the code that this function returns
#pragma once

#include <map>
#include <string>
#include <vector>

namespace fake_nvml {

class Settings {
 public:
  // Those of the file, or none: every value has a default at the place of its use.
  [[nodiscard]] static Settings current();

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
