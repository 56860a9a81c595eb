#include "app/launch/pty_frames.hpp"

#include <array>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/process/descriptor.hpp"

namespace carpool::app {
namespace {

TEST(PtyFrames, AreReadFromAnyPieces) {
  const std::string sent =
      typed_frame("ls\r") +
      window_frame({.ws_row = 30, .ws_col = 90, .ws_xpixel = 0, .ws_ypixel = 0}) +
      typed_frame(std::string(kPtyChunk, 'x'));
  PtyFrameReader reader;
  std::vector<PtyFrame> frames;
  for (const char byte : sent) {
    reader.add({&byte, 1});
    while (const auto frame = reader.next()) {
      frames.push_back(*frame);
    }
  }
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(frames[0].bytes, "ls\r");
  EXPECT_FALSE(window_of(frames[0]));
  const auto window = window_of(frames[1]);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->ws_row, 30);
  EXPECT_EQ(window->ws_col, 90);
  EXPECT_EQ(frames[2].bytes.size(), kPtyChunk);
}

TEST(PtyFrames, PendingBytesWaitForAReaderAndEndWithIt) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
  Descriptor from(ends[0]);
  const Descriptor to(ends[1]);
  PendingBytes pending;
  pending.add(std::string(1U << 20U, 'x'));  // more than a pipe holds
  EXPECT_TRUE(pending.write_to(to.get()));
  EXPECT_FALSE(pending.empty());
  std::size_t got = 0;
  while (got < (1U << 20U)) {
    got += read_now(from.get()).bytes.size();
    ASSERT_TRUE(pending.write_to(to.get()));
  }
  EXPECT_TRUE(pending.empty());
  EXPECT_FALSE(read_now(from.get()).over);
}

}  // namespace
}  // namespace carpool::app
