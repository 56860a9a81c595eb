#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/process/child_process.hpp"
#include "base/process/descriptor.hpp"
#include "base/process/spawn.hpp"

namespace carpool {
namespace {

constexpr std::size_t kMostOutput = std::size_t{1} << 20U;
constexpr int kLookEveryMs = 20;

tl::unexpected<Error> refused(const Command& command, std::string_view what) {
  const int code = errno;
  return fail(ErrorCode::Internal,
              fmt::format("run {}: {}: {}",
                          command.argv.empty() ? "" : command.argv.front(),
                          what,
                          std::generic_category().message(code)));
}

// A file in memory that holds the input. Unlike a pipe it is never full and never broken, so there
// is nothing to write while the child runs and no SIGPIPE when it is not read.
Result<Descriptor> input_file(const Command& command, std::string_view input) {
  Descriptor file(::memfd_create("input", MFD_CLOEXEC));
  if (!file.valid()) {
    return refused(command, "make a file for its input");
  }
  while (!input.empty()) {
    const ssize_t written = ::write(file.get(), input.data(), input.size());
    if (written < 0 && errno != EINTR) {
      return refused(command, "write its input");
    }
    input.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) {
    return refused(command, "rewind its input");
  }
  return file;
}

struct Pipe {
  Descriptor reader;  // does not block
  Descriptor writer;
};

Result<Pipe> make_pipe(const Command& command) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return refused(command, "make a pipe");
  }
  Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  if (::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
    return refused(command, "make a pipe");
  }
  return pipe;
}

// Takes what is there; closes the reader at its end. Bytes over the limit are discarded, so that
// the child does not block on a full pipe.
void drain(Descriptor& reader, std::string& text) {
  std::array<char, 16384> block{};
  while (reader.valid()) {
    const ssize_t got = ::read(reader.get(), block.data(), block.size());
    if (got > 0) {
      const std::size_t room = kMostOutput - text.size();
      text.append(block.data(), std::min(static_cast<std::size_t>(got), room));
      // A child that never stops writing must not keep this loop from its time limit.
      if (text.size() == kMostOutput) {
        return;
      }
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
      reader.reset();
    } else if (errno == EAGAIN) {
      return;
    }
  }
}

}  // namespace

Result<CommandResult> run_command(const Command& command,
                                  std::string_view input,
                                  std::chrono::milliseconds limit) {
  const Result<Descriptor> in = input_file(command, input);
  Result<Pipe> out = in ? make_pipe(command) : tl::unexpected(in.error());
  Result<Pipe> err = out ? make_pipe(command) : tl::unexpected(out.error());
  if (!err) {
    return tl::unexpected(err.error());
  }
  const Result<pid_t> pid = spawn(command, {in->get(), out->writer.get(), err->writer.get()});
  if (!pid) {
    return tl::unexpected(pid.error());
  }
  ChildProcess child(*pid, ChildProcess::Rest::LivesOn);
  out->writer.reset();
  err->writer.reset();
  const Descriptor ended = open_pidfd(*pid);
  const std::int64_t deadline = monotonic_ns() + std::chrono::nanoseconds(limit).count();
  CommandResult result;
  // The end of the child counts, not the end of its output: a daemon that it started may hold that.
  std::optional<ExitStatus> status;
  while (!(status = child.poll())) {
    if (monotonic_ns() >= deadline) {
      child.end(std::chrono::milliseconds(0));
      return fail(ErrorCode::Internal,
                  fmt::format("run {}: it did not end within {} ms and was killed",
                              command.argv.front(),
                              limit.count()));
    }
    // poll() skips descriptors below 0: closed outputs, and no pidfd on an old kernel.
    std::array<pollfd, 3> waiting = {pollfd{out->reader.get(), POLLIN, 0},
                                     pollfd{err->reader.get(), POLLIN, 0},
                                     pollfd{ended.get(), POLLIN, 0}};
    ::poll(waiting.data(), waiting.size(), kLookEveryMs);
    drain(out->reader, result.out);
    drain(err->reader, result.err);
  }
  result.status = *status;
  drain(out->reader, result.out);
  drain(err->reader, result.err);
  return result;
}

}  // namespace carpool
