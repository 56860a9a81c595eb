#include "interpose/state/state_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "interpose/state/state_folder.hpp"
#include "interpose/state/state_header.hpp"
#include "interpose/state/tables.hpp"

namespace carpool::interpose {
namespace {

constexpr mode_t kOthers = 077;
constexpr int kLowestDescriptor = 192;  // programs use and close low numbers

StateError check_owner(const struct stat& found, uid_t owner) {
  return found.st_uid != owner || (found.st_mode & kOthers) != 0 ? StateError::Foreign
                                                                 : StateError::None;
}

}  // namespace

StateFile::StateFile(StateFile&& other) noexcept
    : descriptor_(other.descriptor_), inode_(other.inode_), state_(other.state_) {
  other.descriptor_ = -1;
  other.state_ = nullptr;
}

StateFile& StateFile::operator=(StateFile&& other) noexcept {
  if (this != &other) {
    close();
    std::swap(descriptor_, other.descriptor_);
    std::swap(inode_, other.inode_);
    std::swap(state_, other.state_);
  }
  return *this;
}

StateFile::~StateFile() {
  close();
}

StateError StateFile::open(std::string_view folder,
                           std::string_view gpu_uuid,
                           uid_t owner,
                           Missing missing) {
  close();
  PathBuffer path{};
  StateFileName name{};
  if (!state_folder(folder, path)) {
    return StateError::Absent;
  }
  if (!state_file_name(gpu_uuid, name)) {
    return StateError::OtherGpu;
  }
  if (missing == Missing::Make) {
    make_state_folder(path, owner);
  }
  const int opened = ::open(path.data(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (opened < 0) {
    return errno == ELOOP || errno == ENOTDIR ? StateError::NotAFile : StateError::Absent;
  }
  struct stat found{};
  StateError error = ::fstat(opened, &found) == 0 ? check_owner(found, owner) : StateError::System;
  if (error == StateError::None) {
    error = open_in(opened, name.data(), gpu_uuid, owner, missing);
  }
  ::close(opened);
  return error;
}

StateError StateFile::open_in(
    int folder, const char* name, std::string_view gpu_uuid, uid_t owner, Missing missing) {
  const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  int opened = ::openat(folder, name, flags);
  if (opened < 0 && errno == ENOENT && missing == Missing::Make) {
    opened = ::openat(folder, name, flags | O_CREAT | O_EXCL, 0600);
    if (opened >= 0 && owner != ::geteuid() &&
        ::fchown(opened, owner, static_cast<gid_t>(-1)) != 0) {
      ::close(opened);
      return StateError::System;
    }
    if (opened < 0 && errno == EEXIST) {
      opened = ::openat(folder, name, flags);
    }
  }
  if (opened < 0) {
    return errno == ELOOP || errno == EISDIR || errno == ENXIO ? StateError::NotAFile
           : errno == EACCES                                   ? StateError::Foreign
                                                               : StateError::Absent;
  }
  descriptor_ = ::fcntl(opened, F_DUPFD_CLOEXEC, kLowestDescriptor);
  if (descriptor_ < 0) {
    descriptor_ = opened;
  } else {
    ::close(opened);
  }
  struct stat found{};
  StateError error = StateError::System;
  if (::fstat(descriptor_, &found) == 0) {
    inode_ = found.st_ino;
    error = S_ISREG(found.st_mode) ? check_owner(found, owner) : StateError::NotAFile;
  }
  if (error == StateError::None) {
    error = prepare_content(*this, gpu_uuid, owner, missing);
  }
  if (error != StateError::None) {
    close();
  }
  return error;
}

StateError StateFile::map() {
  void* const mapped =
      ::mmap(nullptr, sizeof(SharedState), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (mapped == MAP_FAILED) {
    return StateError::System;
  }
  state_ = static_cast<SharedState*>(mapped);
  return StateError::None;
}

bool StateFile::reserve_log(std::uint32_t slot) const {
  return reserve_space(descriptor_, log_offset(slot), sizeof(KernelLogRing));
}

bool StateFile::try_lock(std::uint64_t byte) const {
  return try_lock_byte(descriptor_, byte);
}

void StateFile::unlock(std::uint64_t byte) const {
  unlock_byte(descriptor_, byte);
}

bool StateFile::is_open() const {
  struct stat found{};
  return descriptor_ >= 0 && ::fstat(descriptor_, &found) == 0 && found.st_ino == inode_;
}

void StateFile::close_descriptor() {
  if (is_open()) {
    ::close(descriptor_);
  }
  descriptor_ = -1;
}

void StateFile::close() {
  if (state_ != nullptr) {
    ::munmap(state_, sizeof(SharedState));
    state_ = nullptr;
  }
  close_descriptor();
}

}  // namespace carpool::interpose
