// Sends commands to the MPS control daemon of a folder through NVIDIA's control program: the
// command on standard input, the answer on standard output.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "base/result.hpp"
#include "gpu/mps/mps_daemon.hpp"
#include "gpu/mps/mps_folder.hpp"

namespace carpool::gpu {

// Answers take milliseconds; after this time none is expected.
inline constexpr std::chrono::milliseconds kMpsAnswerLimit{5000};

// From CARPOOL_MPS_CONTROL, else PATH; Unsupported if there is none.
[[nodiscard]] Result<std::filesystem::path> find_mps_program();

class MpsControl {
 public:
  MpsControl(std::filesystem::path program, MpsFolder folder)
      : program_(std::move(program)), folder_(std::move(folder)) {}

  [[nodiscard]] const std::filesystem::path& program() const { return program_; }
  [[nodiscard]] const MpsFolder& folder() const { return folder_; }

  // Starts the daemon in the background.
  [[nodiscard]] Result<void> start(const std::string& gpu_uuid) const;

  // NotFound if no daemon answers in this folder.
  [[nodiscard]] Result<std::string> ask(const std::string& command,
                                        std::chrono::milliseconds limit = kMpsAnswerLimit) const;

  [[nodiscard]] Result<std::vector<MpsServer>> servers() const;
  [[nodiscard]] Result<std::vector<MpsClient>> clients() const;

 private:
  [[nodiscard]] Result<std::vector<pid_t>> server_pids() const;

  std::filesystem::path program_;
  MpsFolder folder_;
};

}  // namespace carpool::gpu
