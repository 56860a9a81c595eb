// For long work without a measure of progress: on a terminal, after two seconds, a line on standard
// error with the work and its elapsed time; removed at the end.
#pragma once

#include <string>
#include <thread>

#include "base/progress/progress.hpp"

namespace carpool {

class BusyLine {
 public:
  BusyLine(std::string what, Progress::Show show);
  BusyLine(const BusyLine&) = delete;
  BusyLine& operator=(const BusyLine&) = delete;
  ~BusyLine() = default;  // waits for the thread, which clears the line

 private:
  std::jthread thread_;  // none when nothing is shown
};

}  // namespace carpool
