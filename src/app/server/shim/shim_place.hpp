// What a server needs to run jobs with the library in front of the driver (docs/shim.md).
#pragma once

#include <filesystem>
#include <string>
#include <sys/types.h>

#include "app/cli/serve_options.hpp"
#include "app/server/serve_places.hpp"
#include "base/result.hpp"
#include "core/run.hpp"

namespace carpool::app {

struct ShimPlace {
  std::filesystem::path library{};
  std::string driver{};
  // With a folder of shared state for each user; empty: the server has jobs of its own user only,
  // and they share the state with programs of `carpool run`.
  std::filesystem::path folder{};

  // Where the processes of this user's jobs share their state.
  [[nodiscard]] std::filesystem::path state_of(uid_t uid) const;
};

// Before the program has threads. An error where the library or the driver is missing.
[[nodiscard]] Result<ShimPlace> find_shim(const ServeOptions& options, const ServePlaces& places);

// The user whose processes the job has.
[[nodiscard]] uid_t user_of(const JobOwner& owner);

}  // namespace carpool::app
