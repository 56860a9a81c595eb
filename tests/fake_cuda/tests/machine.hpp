// A machine with fake GPUs. The driver reads its settings once in a process, so a test runs its
// parts in children.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <sys/types.h>

#include <gtest/gtest.h>

namespace fake_cuda {

class Machine {
 public:
  explicit Machine(const std::string& settings = "");
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  Machine(Machine&&) = delete;
  Machine& operator=(Machine&&) = delete;

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

  // Runs the function in a child, where the driver has these settings. True if no expectation
  // failed.
  [[nodiscard]] bool run(const std::function<void()>& part) const;
  // The same, without waiting.
  [[nodiscard]] pid_t start(const std::function<void()>& part) const;
  // Waits for such a child. True if no expectation failed.
  [[nodiscard]] static bool ended_well(pid_t child);

 private:
  std::filesystem::path folder_;
};

// cuInit and the primary context of a device, current in this thread.
void use_device(int device = 0);

}  // namespace fake_cuda
