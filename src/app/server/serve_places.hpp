// The folders of a server: state (queue and outputs) and runtime (sockets).
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "app/cli/serve_options.hpp"
#include "base/result.hpp"

namespace carpool::app {

struct ServePlaces {
  std::filesystem::path state{};    // mode 0700: SqliteJournal::open() tightens an existing one
  std::filesystem::path runtime{};  // of MPS daemons
  std::filesystem::path socket{};
  [[nodiscard]] std::filesystem::path runs() const { return state / "runs"; }
  [[nodiscard]] std::filesystem::path mps() const { return runtime / "mps"; }
  // Of the state that the processes of each user share (docs/shim-state.md).
  [[nodiscard]] std::filesystem::path shim() const { return runtime / "shim"; }
  // Of the jobs of one journal: run numbers of different servers may be equal.
  [[nodiscard]] std::filesystem::path progress(const std::string& journal) const {
    return runtime / "progress" / journal;
  }
};

// Jobs of one kind of server are none of the other (store/journal_kind.hpp).
enum class StateKind { Real, Simulated };

// The folder of the queue: the named one, else that of the system server or of this user.
[[nodiscard]] Result<std::filesystem::path> state_folder(bool system,
                                                         const std::optional<std::string>& named,
                                                         StateKind kind = StateKind::Real);

// The folder of the simulated server, beside that of the real one, where no other was named.
[[nodiscard]] std::filesystem::path simulated_beside(std::filesystem::path state);

// Creates missing folders; InvalidInput where one belongs to another user.
[[nodiscard]] Result<ServePlaces> make_places(const ServeOptions& options);

}  // namespace carpool::app
