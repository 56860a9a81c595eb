#include "observe/processor_load.hpp"

#include <fstream>
#include <string>

namespace carpool::observe {

// The first line: "cpu" and the time in each state, all processors together. The fourth is idle,
// the fifth waits for a disk.
std::optional<ProcessorLoad::Times> ProcessorLoad::read() const {
  constexpr int kIdle = 3;
  constexpr int kDisk = 4;
  constexpr int kStates = 8;  // those that follow are parts of others
  std::ifstream file(file_);
  std::string name;
  if (!(file >> name) || name != "cpu") {
    return std::nullopt;
  }
  Times times;
  for (int state = 0; state < kStates; ++state) {
    std::uint64_t ticks = 0;
    if (!(file >> ticks)) {
      return std::nullopt;
    }
    times.all += ticks;
    times.idle += state == kIdle || state == kDisk ? ticks : 0;
  }
  return times;
}

std::optional<double> ProcessorLoad::idle() {
  const std::optional<Times> now = read();
  const std::optional<Times> before = last_;
  if (now && before && now->all == before->all) {
    return std::nullopt;  // too soon: the next call tells
  }
  last_ = now;
  if (!now || !before || now->all < before->all || now->idle < before->idle) {
    return std::nullopt;
  }
  return static_cast<double>(now->idle - before->idle) /
         static_cast<double>(now->all - before->all);
}

}  // namespace carpool::observe
