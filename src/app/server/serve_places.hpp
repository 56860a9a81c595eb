// The folders of a server: state (queue and outputs) and runtime (sockets).
#pragma once

#include <filesystem>

#include "app/cli/serve_options.hpp"
#include "base/result.hpp"

namespace carpool::app {

struct ServePlaces {
  std::filesystem::path state{};    // mode 0700
  std::filesystem::path runtime{};  // of MPS daemons
  std::filesystem::path socket{};
  [[nodiscard]] std::filesystem::path runs() const { return state / "runs"; }
  [[nodiscard]] std::filesystem::path mps() const { return runtime / "mps"; }
};

inline constexpr const char* kSystemState = "/var/lib/carpool";
// The default of a personal server.
[[nodiscard]] Result<std::filesystem::path> personal_state();

// Creates missing folders; InvalidInput where one belongs to another user.
[[nodiscard]] Result<ServePlaces> make_places(const ServeOptions& options);

}  // namespace carpool::app
