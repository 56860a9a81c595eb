#include "run/supervisor/own_outputs.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace carpool::run {
namespace {

constexpr char kOut = 'o';
constexpr char kErr = 'e';

struct OwnFile {
  std::uint64_t size = 0;
  char which = 0;
};

// A message with one descriptor.
struct Message {
  OwnFile file{};
  iovec part{};
  msghdr head{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};

  Message() {
    part = {.iov_base = &file, .iov_len = sizeof file};
    head.msg_iov = &part;
    head.msg_iovlen = 1;
    head.msg_control = control.data();
    head.msg_controllen = control.size();
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  ~Message() = default;
};

bool send_descriptor(int socket, const OwnFile& file, int descriptor) {
  Message message;
  message.file = file;
  cmsghdr* const header = CMSG_FIRSTHDR(&message.head);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  return ::sendmsg(socket, &message.head, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof file);
}

StartTrouble cannot_open(const std::string& file) {
  return trouble_with_job_files(errno, fmt::format("open {} for the output of the job", file));
}

// Returns the descriptor, which this process keeps until it executes the program.
Started<int> open_own(const std::string& file, char which, int socket) {
  // O_RDWR: the supervisor reads it, and a pipe without a reader does not block.
  const int opened = ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);
  struct stat status{};
  if (opened < 0 || ::fstat(opened, &status) != 0) {
    return tl::unexpected(cannot_open(file));
  }
  if (!S_ISREG(status.st_mode) && !S_ISCHR(status.st_mode)) {
    return tl::unexpected(StartTrouble{
        .message = fmt::format("{} is not a file that the output can be appended to", file)});
  }
  const OwnFile sent{.size = static_cast<std::uint64_t>(status.st_size), .which = which};
  if (S_ISREG(status.st_mode) && !send_descriptor(socket, sent, opened)) {
    return machine_trouble(TroubleScope::Machine,
                           fmt::format("pass {} to the supervisor: {}", file, last_error()));
  }
  return opened;
}

Started<void> connect(int descriptor, int stream) {
  if (::dup2(descriptor, stream) < 0) {
    return machine_trouble(TroubleScope::Machine,
                           fmt::format("connect the output of the job: {}", last_error()));
  }
  return {};
}

void write_all(int descriptor, std::string_view text, std::uint64_t& written) {
  while (!text.empty()) {
    const ssize_t part = ::write(descriptor, text.data(), text.size());
    if (part < 0 && errno == EINTR) {
      continue;
    }
    if (part <= 0) {
      return;  // a full disk: the next look goes on here
    }
    written += static_cast<std::uint64_t>(part);
    text.remove_prefix(static_cast<std::size_t>(part));
  }
}

}  // namespace

Started<void> connect_own_outputs(const SupervisorOrder& order, int socket) {
  Started<void> connected;
  if (!order.output.empty()) {
    connected = open_own(order.output, kOut, socket).and_then([&](int opened) {
      Started<void> out = connect(opened, STDOUT_FILENO);
      // One open file for both: what is written first comes first.
      return out && order.error.empty() ? connect(opened, STDERR_FILENO) : out;
    });
  }
  if (connected && !order.error.empty()) {
    connected = open_own(order.error, kErr, socket).and_then([&](int opened) {
      return connect(opened, STDERR_FILENO);
    });
  }
  return connected;
}

OwnOutputs receive_own_outputs(int socket) {
  OwnOutputs outputs;
  while (true) {
    Message message;
    if (::recvmsg(socket, &message.head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) !=
        static_cast<ssize_t>(sizeof message.file)) {
      return outputs;
    }
    const cmsghdr* const header = CMSG_FIRSTHDR(&message.head);
    if (header == nullptr || header->cmsg_type != SCM_RIGHTS) {
      return outputs;
    }
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    const bool out = message.file.which == kOut;
    (out ? outputs.out : outputs.err) = Descriptor(descriptor);
    (out ? outputs.out_size : outputs.err_size) = message.file.size;
  }
}

JobOutputs::JobOutputs(const RunFolder& folder, std::uint64_t most_bytes)
    : most_bytes_(most_bytes),
      copies_{Copy{.to = folder.stdout_file()}, Copy{.to = folder.stderr_file()}},
      cap_(folder, most_bytes) {}

void JobOutputs::copy(OwnOutputs outputs) {
  copies_[0].from = std::move(outputs.out);
  copies_[0].offset = outputs.out_size;
  copies_[1].from = std::move(outputs.err);
  copies_[1].offset = outputs.err_size;
}

void JobOutputs::look() {
  constexpr std::uint64_t kMostAtOnce = std::uint64_t{64} << 20U;  // signals wait meanwhile
  for (Copy& copy : copies_) {
    copy_more(copy, kMostAtOnce);
  }
  cap_.look();
}

void JobOutputs::finish() {
  for (Copy& copy : copies_) {
    copy_more(copy, std::numeric_limits<std::uint64_t>::max());
  }
  cap_.look();
}

void JobOutputs::copy_more(Copy& copy, std::uint64_t most) const {
  struct stat status{};
  if (!copy.from.valid() || ::fstat(copy.from.get(), &status) != 0) {
    return;
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size < copy.offset) {
    copy.offset = 0;  // the job has begun the file anew
  }
  if (most_bytes_ > 0 && size - copy.offset > most_bytes_) {
    copy.offset = size - most_bytes_;  // the cap would cut the rest off at once
  }
  const Descriptor to(::open(copy.to.c_str(),
                             O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  const std::uint64_t end = copy.offset + std::min(most, size - copy.offset);
  std::string block(std::size_t{256} << 10U, '\0');
  while (to.valid() && copy.offset < end) {
    const ssize_t got = ::pread(copy.from.get(),
                                block.data(),
                                std::min<std::uint64_t>(block.size(), end - copy.offset),
                                static_cast<off_t>(copy.offset));
    const std::uint64_t before = copy.offset;
    if (got > 0) {
      write_all(
          to.get(), std::string_view(block).substr(0, static_cast<std::size_t>(got)), copy.offset);
    }
    if (copy.offset == before) {
      return;
    }
  }
}

}  // namespace carpool::run
