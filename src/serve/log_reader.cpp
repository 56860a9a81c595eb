#include "serve/log_reader.hpp"

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/process/descriptor.hpp"

namespace carpool::serve {
namespace {

constexpr std::chrono::milliseconds kLookEvery{50};

struct OutputPart {
  std::string bytes{};
  std::uint64_t from = 0;  // at or behind the offset that was asked for
};

// The job may have replaced the file by anything: a pipe must not be waited for.
Descriptor open_output(const std::filesystem::path& file) {
  return Descriptor(
      ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
}

// Skips the part that was dropped because the output passed its limit.
OutputPart read_part(const std::filesystem::path& file, std::uint64_t offset, std::uint64_t most) {
  const Descriptor opened = open_output(file);
  struct stat status{};
  if (!opened.valid() || ::fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) <= offset) {
    return {.from = offset};
  }
  if (const off_t data = ::lseek(opened.get(), static_cast<off_t>(offset), SEEK_DATA); data > 0) {
    offset = static_cast<std::uint64_t>(data);
  }
  const std::uint64_t left = static_cast<std::uint64_t>(status.st_size) - offset;
  std::string part(static_cast<std::size_t>(std::min({left, most, kUsualLogBytes})), '\0');
  const ssize_t got = ::pread(opened.get(), part.data(), part.size(), static_cast<off_t>(offset));
  part.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return {.bytes = std::move(part), .from = offset};
}

// How far back the beginning of the last lines is searched.
constexpr std::uint64_t kMostTailBytes = std::uint64_t{64} << 20U;

// Counts newlines from the end of the text down from `lines`; the place of the one behind the last.
std::optional<std::size_t> newline_before(std::string_view text, std::uint64_t& lines) {
  for (std::size_t end = text.size(); end > 0; --end) {
    if (text[end - 1] == '\n' && lines-- == 0) {
      return end - 1;
    }
  }
  return std::nullopt;
}

// Where the last lines begin. Reads from the end, no more than is needed.
std::uint64_t offset_of_last(const std::filesystem::path& file, std::uint64_t lines) {
  constexpr std::uint64_t kBlock = std::uint64_t{64} << 10U;
  const Descriptor opened = open_output(file);
  struct stat status{};
  if (!opened.valid() || ::fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return 0;
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (lines == 0 || size == 0) {
    return size;
  }
  std::string block;
  const std::uint64_t least = size - std::min(size, kMostTailBytes);
  // The newline that ends the last line begins no further one; a last line may lack it.
  std::uint64_t left = lines - 1;
  std::uint64_t from = size - 1;
  while (from > least) {
    const std::uint64_t begin = std::max(least, from - std::min(from, kBlock));
    block.resize(static_cast<std::size_t>(from - begin));
    if (::pread(opened.get(), block.data(), block.size(), static_cast<off_t>(begin)) !=
        static_cast<ssize_t>(block.size())) {
      break;  // it was cut meanwhile
    }
    if (const auto found = newline_before(block, left)) {
      return begin + *found + 1;
    }
    from = begin;
  }
  return from;
}

// The output of an attempt, as it is now.
struct AttemptOutput {
  unsigned attempt = 0;  // 0: the job has not begun
  std::filesystem::path file{};
  bool complete = false;
};

Result<AttemptOutput> find_output(JobId job, const LogRequest& wanted, const LogPorts& ports) {
  // Before the file is read: the output of a job that has ended is complete.
  const Result<LogState> now = ports.state();
  if (!now) {
    return tl::unexpected(now.error());
  }
  const unsigned attempt = wanted.attempt == 0 ? now->attempts : wanted.attempt;
  if (attempt > now->attempts) {
    return not_found(fmt::format("job {} has no attempt {}", job, attempt));
  }
  AttemptOutput output{.attempt = attempt, .complete = now->over || attempt < now->attempts};
  if (attempt == 0) {
    return output;
  }
  output.file = ports.log_file({job, attempt}, wanted.stream);
  if (output.complete && output.file.empty()) {
    return not_found(
        fmt::format("there is no output of attempt {} of job {}: the attempt never began, or its "
                    "output was removed (carpool prune)",
                    attempt,
                    job));
  }
  return output;
}

ApiAnswer part_answer(unsigned attempt, OutputPart part, bool over, FairShare::Held held) {
  const std::uint64_t next = part.from + part.bytes.size();
  return {.body = std::move(part.bytes),
          .type = "application/octet-stream",
          .headers = {{"X-Carpool-Attempt", fmt::format("{}", attempt)},
                      {"X-Carpool-Offset", fmt::format("{}", next)},
                      {"X-Carpool-Over", over ? "1" : "0"}},
          .held = std::move(held)};
}

}  // namespace

bool is_cut(const std::filesystem::path& file) {
  const Descriptor opened = open_output(file);
  return opened.valid() && ::lseek(opened.get(), 0, SEEK_DATA) > 0;
}

ApiAnswer read_log(JobId job, const LogRequest& wanted, const LogPorts& ports) {
  if (!ports.log_file) {
    return error_answer(not_found("jobs on simulated GPUs have no output"));
  }
  const Stopwatch watch;
  std::uint64_t offset = wanted.tail ? 0 : wanted.offset;
  bool placed = !wanted.tail;
  while (true) {
    const Result<AttemptOutput> output = find_output(job, wanted, ports);
    if (!output) {
      return error_answer(output.error());
    }
    FairShare::Held held = ports.hold(std::min(wanted.most, kUsualLogBytes));
    if (!held) {
      return busy_answer("the server holds as much as it may for answers");
    }
    if (!placed && output->attempt > 0) {
      offset = offset_of_last(output->file, wanted.tail.value_or(0));
      placed = true;
    }
    OutputPart part = output->attempt == 0 ? OutputPart{.from = offset}
                                           : read_part(output->file, offset, wanted.most);
    held.reduce_to(part.bytes.size());
    const bool over = output->complete && part.bytes.empty();
    if (!part.bytes.empty() || over || watch.seconds() >= wanted.wait_s ||
        !ports.pause(kLookEvery)) {
      return part_answer(output->attempt, std::move(part), over, std::move(held));
    }
  }
}

}  // namespace carpool::serve
