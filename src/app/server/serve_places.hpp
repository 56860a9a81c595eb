// Where a server keeps what it has: queue and outputs, which stay, and sockets, which do not.
#pragma once

#include <filesystem>

#include "app/cli/job_options.hpp"
#include "base/result.hpp"

namespace carpool::app {

struct ServePlaces {
  std::filesystem::path state{};    // mode 0700
  std::filesystem::path runtime{};  // of MPS daemons
  std::filesystem::path socket{};
  [[nodiscard]] std::filesystem::path runs() const { return state / "runs"; }
  [[nodiscard]] std::filesystem::path mps() const { return runtime / "mps"; }
};

// Made where they are not there; refused where they are somebody else's.
[[nodiscard]] Result<ServePlaces> make_places(const ServeOptions& options);

}  // namespace carpool::app
