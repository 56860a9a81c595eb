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
  Absent,       // it does not exist, or it cannot be made
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

// An open state file. Move-only; the descriptor carries the locks of its owner.
class StateFile {
 public:
  enum class Missing { Make, Refuse };

  constexpr StateFile() = default;
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

  // Exclusive lock of one byte, owned by this open file: the kernel frees it when no process has
  // the descriptor or the mapping any more. False if another has it.
  [[nodiscard]] bool try_lock(std::uint64_t byte) const;
  void unlock(std::uint64_t byte) const;

  // The pages of a client's log; false if the kernel has no memory for them.
  [[nodiscard]] bool reserve_log(std::uint32_t slot) const;

  // Whether the descriptor is still that of the file: programs close descriptors at random.
  [[nodiscard]] bool is_open() const;

  void close();
  // The mapping stays for threads that still count.
  void close_descriptor();

 private:
  [[nodiscard]] StateError open_in(
      int folder, const char* name, std::string_view gpu_uuid, uid_t owner, Missing missing);

  int descriptor_ = -1;
  std::uint64_t inode_ = 0;  // to recognise a descriptor that the program has closed and used again
  SharedState* state_ = nullptr;
};

}  // namespace carpool::interpose
