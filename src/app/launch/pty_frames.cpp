#include "app/launch/pty_frames.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <unistd.h>

namespace carpool::app {
namespace {

using FrameLength = std::uint16_t;  // both ends are on one machine: its order of bytes
constexpr std::size_t kFrameHead = 1 + sizeof(FrameLength);

std::string frame_of(PtyFrameKind kind, std::string_view bytes) {
  const auto length = static_cast<FrameLength>(bytes.size());
  std::string frame(kFrameHead, static_cast<char>(kind));
  std::memcpy(frame.data() + 1, &length, sizeof length);
  return frame.append(bytes);
}

}  // namespace

std::string typed_frame(std::string_view bytes) {
  return frame_of(PtyFrameKind::Typed, bytes.substr(0, kPtyChunk));
}

std::string window_frame(const winsize& window) {
  std::string bytes(sizeof window, '\0');
  std::memcpy(bytes.data(), &window, sizeof window);
  return frame_of(PtyFrameKind::Window, bytes);
}

std::optional<winsize> window_of(const PtyFrame& frame) {
  winsize window{};
  if (frame.kind != PtyFrameKind::Window || frame.bytes.size() != sizeof window) {
    return std::nullopt;
  }
  std::memcpy(&window, frame.bytes.data(), sizeof window);
  return window;
}

std::optional<PtyFrame> PtyFrameReader::next() {
  FrameLength length = 0;
  if (held_.size() < kFrameHead) {
    return std::nullopt;
  }
  std::memcpy(&length, held_.data() + 1, sizeof length);
  if (held_.size() < kFrameHead + length) {
    return std::nullopt;
  }
  PtyFrame frame{.kind = static_cast<PtyFrameKind>(held_.front()),
                 .bytes = held_.substr(kFrameHead, length)};
  held_.erase(0, kFrameHead + length);
  return frame;
}

bool PendingBytes::write_to(int descriptor) {
  while (!bytes_.empty()) {
    const ssize_t written = ::write(descriptor, bytes_.data(), bytes_.size());
    if (written >= 0) {
      bytes_.erase(0, static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      return true;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

PtyRead read_now(int descriptor) {
  std::array<char, kPtyChunk> chunk{};
  const ssize_t got = ::read(descriptor, chunk.data(), chunk.size());
  if (got > 0) {
    return {.bytes = std::string(chunk.data(), static_cast<std::size_t>(got))};
  }
  return {.over = got == 0 || (errno != EAGAIN && errno != EINTR)};
}

}  // namespace carpool::app
