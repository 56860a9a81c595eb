// What `carpool run --pty` sends to the relay in its job: what was typed, and the size of the
// terminal. Back come the bytes of the program as they are.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <sys/ioctl.h>

namespace carpool::app {

enum class PtyFrameKind : char { Typed = 't', Window = 'w' };

struct PtyFrame {
  PtyFrameKind kind = PtyFrameKind::Typed;
  std::string bytes{};
};

inline constexpr std::size_t kPtyChunk = 4096;

[[nodiscard]] std::string typed_frame(std::string_view bytes);
[[nodiscard]] std::string window_frame(const winsize& window);
// Nothing if the frame holds no window.
[[nodiscard]] std::optional<winsize> window_of(const PtyFrame& frame);

// Frames from bytes that arrive in pieces.
class PtyFrameReader {
 public:
  void add(std::string_view bytes) { held_ += bytes; }
  [[nodiscard]] std::optional<PtyFrame> next();

 private:
  std::string held_;
};

// Bytes on their way to a descriptor that does not block.
class PendingBytes {
 public:
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  void add(std::string_view bytes) { bytes_ += bytes; }
  // Writes what the descriptor takes. False: its other end is closed.
  [[nodiscard]] bool write_to(int descriptor);

 private:
  std::string bytes_;
};

struct PtyRead {
  std::string bytes{};
  bool over = false;  // the other end is closed
};
// What is there now, at most kPtyChunk bytes.
[[nodiscard]] PtyRead read_now(int descriptor);

}  // namespace carpool::app
