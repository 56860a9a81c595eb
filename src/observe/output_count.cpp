#include "observe/output_count.hpp"

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/clock.hpp"
#include "base/process/descriptor.hpp"

namespace carpool::observe {
namespace {

constexpr std::uintmax_t kMostAtOnce = std::uintmax_t{1} << 18U;
constexpr std::uintmax_t kMostBehind = std::uintmax_t{1} << 22U;
constexpr double kMostSeconds = 0.1;  // of matching in one reading, of the processor

}  // namespace

OutputCount::OutputCount(ProgressPattern pattern, const std::vector<std::filesystem::path>& files)
    : pattern_(std::move(pattern)) {
  for (const std::filesystem::path& path : files) {
    files_.push_back({.path = path});
  }
}

std::optional<CountSeen> OutputCount::read(double now_s) {
  const ThreadStopwatch watch;
  for (File& file : files_) {
    if (!given_up_) {
      read_file(file, now_s);
    }
    given_up_ = given_up_ || watch.seconds() > kMostSeconds;
  }
  return given_up_ || seen_.count == 0.0 ? std::nullopt : std::optional(seen_);
}

void OutputCount::read_file(File& file, double now_s) {
  const Descriptor opened(
      ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status{};
  if (!opened.valid() || ::fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return;
  }
  const auto size = static_cast<std::uintmax_t>(status.st_size);
  if (size < file.read || size - file.read > kMostBehind) {
    file.read = size;  // cut off, or written faster than it is read
    file.unfinished.clear();
    seen_ = {};
    return;
  }
  std::string text(std::min(size - file.read, kMostAtOnce), '\0');
  const ssize_t got =
      ::pread(opened.get(), text.data(), text.size(), static_cast<off_t>(file.read));
  if (got > 0) {
    file.read += static_cast<std::uintmax_t>(got);
    add(file, std::string_view(text).substr(0, static_cast<std::size_t>(got)), now_s);
  }
}

void OutputCount::add(File& file, std::string_view text, double now_s) {
  const auto keep = [&file](std::string_view part) {
    constexpr std::size_t kMost = ProgressPattern::kLongestLine;
    file.unfinished += part.substr(0, kMost - std::min(kMost, file.unfinished.size()));
  };
  const ThreadStopwatch watch;
  // Progress bars end their lines with a carriage return.
  for (std::size_t end = text.find_first_of("\r\n"); end != std::string_view::npos;
       end = text.find_first_of("\r\n")) {
    keep(text.substr(0, end));
    if (pattern_.matches(file.unfinished)) {
      seen_ = {.count = seen_.count + 1.0, .at_s = now_s};
    }
    file.unfinished.clear();
    text.remove_prefix(end + 1);
    if (watch.seconds() > kMostSeconds) {
      return;  // read() gives up
    }
  }
  keep(text);
}

}  // namespace carpool::observe
