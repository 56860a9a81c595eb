// For one long piece of work that cannot say how far it is: after two seconds a line on standard
// error tells what is done and for how long already, on a terminal; gone at its end.
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
  std::jthread thread_;  // none where nothing is to be seen
};

}  // namespace carpool
