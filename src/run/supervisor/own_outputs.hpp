// Files that a job names for its output. The first process of the job opens them with the rights of
// its user, never a supervisor of root, and passes them on to the supervisor, which keeps a copy of
// what is written in the run folder: the server reads the output of every job there.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>

#include "base/process/descriptor.hpp"
#include "run/run_folder.hpp"
#include "run/start_trouble.hpp"
#include "run/supervisor/output_cap.hpp"
#include "run/supervisor/supervisor_order.hpp"

namespace carpool::run {

// Invalid descriptors: the job names no such file, or not a regular one.
struct OwnOutputs {
  Descriptor out{};
  Descriptor err{};
  std::uint64_t out_size = 0;  // before the job wrote to it
  std::uint64_t err_size = 0;
};

// In the first process of the job, as its user and in its working folder: opens the files, connects
// them to 1 and 2, and sends them through the socket.
[[nodiscard]] Started<void> connect_own_outputs(const SupervisorOrder& order, int socket);
// In the supervisor, when the job runs.
[[nodiscard]] OwnOutputs receive_own_outputs(int socket);

// The outputs of the job in the run folder: copied where the job writes to its own files, and held
// within their cap.
class JobOutputs {
 public:
  JobOutputs(const RunFolder& folder, std::uint64_t most_bytes);

  // Copies what is written from now on.
  void copy(OwnOutputs outputs);
  // To be called about once a second.
  void look();
  // When no process of the job is left.
  void finish();

 private:
  struct Copy {
    Descriptor from{};
    std::filesystem::path to{};
    std::uint64_t offset = 0;
  };
  void copy_more(Copy& copy, std::uint64_t most) const;

  std::uint64_t most_bytes_;
  std::array<Copy, 2> copies_;
  OutputCap cap_;
};

}  // namespace carpool::run
