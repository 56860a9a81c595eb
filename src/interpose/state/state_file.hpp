// The file behind the shared state: where it lies, who may make it, and which files are refused.
// No heap, no exceptions: this runs inside users' processes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <sys/types.h>

#include "interpose/state/layout.hpp"

namespace carpool::interpose {

// Why there is no shared state. The program goes on without it.
enum class StateError : std::uint8_t {
  None,
  NoFolder,     // it does not exist and cannot be made
  Foreign,      // folder or file of another user, or others may write it
  NotAFile,     // a link, a device, …
  Corrupt,      // not a state file, or a damaged one
  OlderLayout,  // written by an older Carpool
  NewerLayout,  // written by a newer Carpool
  OtherGpu,     // the file is that of another GPU
  Full,         // no slot for a client, or none for a job
  Busy,         // a process holds the lock of the tables for too long
  System,       // the kernel refused a call
};
[[nodiscard]] const char* describe(StateError error);

inline constexpr std::size_t kMostPath = 4096;
using PathBuffer = std::array<char, kMostPath>;

// CARPOOL_STATE_DIR, which the server and `carpool run` set; else $XDG_RUNTIME_DIR/carpool/state
// or, where that cannot be written, /tmp/carpool-UID/state. False if the path is too long.
[[nodiscard]] bool default_state_folder(PathBuffer& path);

// gpu-UUID.state in the folder. False if the path is too long or the UUID is not one.
[[nodiscard]] bool state_path(std::string_view folder, std::string_view gpu_uuid, PathBuffer& path);

// An open state file. Move-only; the descriptor carries the locks of its owner.
class StateFile {
 public:
  enum class Missing { Make, Refuse };

  StateFile() = default;
  StateFile(StateFile&& other) noexcept;
  StateFile& operator=(StateFile&& other) noexcept;
  StateFile(const StateFile&) = delete;
  StateFile& operator=(const StateFile&) = delete;
  ~StateFile();

  // The folder (mode 0700) and its file (0600) must belong to `owner`; they are made if missing.
  [[nodiscard]] StateError open(std::string_view folder,
                                std::string_view gpu_uuid,
                                uid_t owner,
                                Missing missing = Missing::Make);

  // Maps it for a client. The mapping ends with this object.
  [[nodiscard]] StateError map();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] SharedState* state() const { return state_; }

  // Exclusive lock of one byte, owned by this open file: the kernel frees it when the last process
  // that has the descriptor ends. False if another has it.
  [[nodiscard]] bool try_lock(std::uint64_t byte) const;
  void unlock(std::uint64_t byte) const;
  // Waits at most about 200 ms.
  [[nodiscard]] bool lock_tables() const;
  void unlock_tables() const { unlock(kTableLockByte); }

  void close();

 private:
  [[nodiscard]] StateError open_folder(const char* folder,
                                       uid_t owner,
                                       Missing missing,
                                       int& opened);
  [[nodiscard]] StateError initialise(std::string_view gpu_uuid, uid_t owner) const;
  [[nodiscard]] StateError check(std::string_view gpu_uuid, uid_t owner) const;

  int descriptor_ = -1;
  SharedState* state_ = nullptr;
};

// Tells whether the bytes are a header of this layout for this GPU and user.
[[nodiscard]] StateError check_header(const StateHeader& header,
                                      std::uint64_t file_bytes,
                                      std::string_view gpu_uuid,
                                      uid_t owner);

}  // namespace carpool::interpose
