#include "interpose/state/state_header.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interpose/guard/checked_word.hpp"
#include "interpose/state/tables.hpp"

namespace carpool::interpose {
namespace {

constexpr std::uint64_t kReady = 0x5244595f4c4f4f50;

bool put_word(int descriptor, std::uint64_t offset, std::uint64_t value) {
  return ::pwrite(descriptor, &value, sizeof value, static_cast<off_t>(offset)) == sizeof value;
}

StateError initialise(int descriptor, std::string_view gpu_uuid, uid_t owner) {
  alignas(StateHeader) std::array<std::byte, sizeof(StateHeader)> bytes{};
  auto* header = reinterpret_cast<StateHeader*>(bytes.data());
  header->magic = kLayoutMagic;
  header->version = kLayoutVersion;
  header->owner = owner;
  header->file_bytes = sizeof(SharedState);
  header->layout_digest = layout_digest();
  gpu_uuid.copy(header->gpu_uuid.data(), header->gpu_uuid.size() - 1);
  const std::uint64_t gpu = offsetof(SharedState, gpu);
  const bool written =
      ::ftruncate(descriptor, sizeof(SharedState)) == 0 &&
      reserve_space(descriptor, 0, offsetof(SharedState, logs)) &&
      put_word(descriptor, gpu + offsetof(GpuBlock, total_bytes), checked_word(0)) &&
      put_word(descriptor, gpu + offsetof(GpuBlock, headroom_bytes), checked_word(0)) &&
      put_word(descriptor, gpu + offsetof(GpuBlock, foreign_bytes), checked_word(0)) &&
      ::pwrite(descriptor, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()) &&
      put_word(descriptor, offsetof(StateHeader, ready), kReady);
  return written ? StateError::None : StateError::System;
}

// Left by a process that was killed while it made the file.
bool half_made(const StateHeader& header, std::uint64_t file_bytes) {
  return file_bytes == 0 || (file_bytes == sizeof(SharedState) && header.ready.load() == 0 &&
                             (header.magic == 0 || header.magic == kLayoutMagic));
}

struct HeaderBytes {
  alignas(StateHeader) std::array<std::byte, sizeof(StateHeader)> bytes{};
  std::uint64_t file_bytes = 0;
  [[nodiscard]] const StateHeader& header() const {
    return *reinterpret_cast<const StateHeader*>(bytes.data());
  }
};

bool read_header(int descriptor, HeaderBytes& into) {
  struct stat found{};
  into.bytes = {};
  if (::fstat(descriptor, &found) != 0 ||
      ::pread(descriptor, into.bytes.data(), into.bytes.size(), 0) < 0) {
    return false;
  }
  into.file_bytes = static_cast<std::uint64_t>(found.st_size);
  return true;
}

}  // namespace

bool reserve_space(int descriptor, std::uint64_t from, std::uint64_t bytes) {
  return ::fallocate(descriptor, 0, static_cast<off_t>(from), static_cast<off_t>(bytes)) == 0 ||
         errno == EOPNOTSUPP;
}

StateError check_header(const StateHeader& header,
                        std::uint64_t file_bytes,
                        std::string_view gpu_uuid,
                        uid_t owner) {
  if (header.magic != kLayoutMagic) {
    return StateError::Corrupt;
  }
  if (header.version != kLayoutVersion) {
    return header.version < kLayoutVersion ? StateError::OlderLayout : StateError::NewerLayout;
  }
  if (header.ready.load() != kReady || header.file_bytes != sizeof(SharedState) ||
      file_bytes != sizeof(SharedState) || header.layout_digest != layout_digest()) {
    return StateError::Corrupt;
  }
  if (header.owner != owner) {
    return StateError::Foreign;
  }
  const char* const uuid = header.gpu_uuid.data();
  return gpu_uuid == std::string_view(uuid, ::strnlen(uuid, header.gpu_uuid.size()))
             ? StateError::None
             : StateError::OtherGpu;
}

StateError prepare_content(const StateFile& file,
                           std::string_view gpu_uuid,
                           uid_t owner,
                           StateFile::Missing missing) {
  HeaderBytes seen;
  if (!read_header(file.descriptor(), seen)) {
    return StateError::System;
  }
  if (half_made(seen.header(), seen.file_bytes)) {
    if (missing == StateFile::Missing::Refuse) {
      return StateError::Absent;
    }
    Tables tables;
    if (const StateError error = tables.lock(file, Tables::kJoinPatienceMs);
        error != StateError::None) {
      return error;
    }
    if (!read_header(file.descriptor(), seen)) {
      return StateError::System;
    }
    if (half_made(seen.header(), seen.file_bytes)) {
      const StateError error = initialise(file.descriptor(), gpu_uuid, owner);
      if (error != StateError::None || !read_header(file.descriptor(), seen)) {
        return StateError::System;
      }
    }
  }
  return check_header(seen.header(), seen.file_bytes, gpu_uuid, owner);
}

const char* describe(StateError error) {
  switch (error) {
    case StateError::None:
      return "no error";
    case StateError::Absent:
      return "the state file does not exist and cannot be made";
    case StateError::Foreign:
      return "the state folder or file belongs to another user or is open to others";
    case StateError::NotAFile:
      return "the state file is not a regular file, or the folder is not a folder";
    case StateError::Corrupt:
      return "the state file is damaged";
    case StateError::OlderLayout:
      return "the state file is that of an older Carpool";
    case StateError::NewerLayout:
      return "the state file is that of a newer Carpool";
    case StateError::OtherGpu:
      return "the state file is that of another GPU";
    case StateError::Full:
      return "the shared state has no free slot";
    case StateError::Busy:
      return "another process holds the lock of the state file";
    case StateError::System:
      return "the kernel refused an operation on the state file";
  }
  return "unknown error";
}

}  // namespace carpool::interpose
