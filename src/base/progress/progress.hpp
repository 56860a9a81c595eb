// Progress of long work: one line on standard error, redrawn on a terminal; nothing elsewhere, and
// nothing for work that ends within two seconds.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace carpool {

class Progress {
 public:
  enum class Show { OnTerminal, Never };

  Progress(std::string what, std::size_t total, Show show);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // More units of work are done; `detail` names them ("kace-rf, seed 20").
  void advance(const std::string& detail, std::size_t units = 1);

  // Shows at once what is being done: for parts that take long before the first unit is complete.
  void note(const std::string& what);

 private:
  std::string what_;
  std::size_t total_;
  std::size_t done_ = 0;
  bool visible_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point started_;
};

}  // namespace carpool
