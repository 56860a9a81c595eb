#include "observe/step_count.hpp"

#include <cstdint>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files/step_file_format.hpp"

namespace carpool::observe {
namespace {

template <class Word>
std::optional<Word> word_at(int file, std::size_t offset) {
  Word word{};
  const bool whole = ::pread(file, &word, sizeof word, static_cast<off_t>(offset)) ==
                     static_cast<ssize_t>(sizeof word);
  return whole ? std::optional(word) : std::nullopt;
}

}  // namespace

Result<StepCount> StepCount::open(const std::filesystem::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status{};
  if (!file.valid() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return fail(ErrorCode::NotFound, fmt::format("no step file {}", path.string()));
  }
  return StepCount(std::move(file));
}

std::optional<CountSeen> StepCount::read(double now_s) const {
  namespace format = step_file_format;
  const auto capacity = word_at<std::uint32_t>(file_.get(), format::kCapacityAt);
  const auto steps = word_at<std::uint64_t>(file_.get(), format::kStepsAt);
  if (!capacity || !steps || *capacity == 0 || *steps == 0) {
    return std::nullopt;
  }
  const std::size_t slot = (*steps - 1) % *capacity;
  const auto at = word_at<std::int64_t>(file_.get(), format::kRingAt + slot * sizeof(std::int64_t));
  if (!at) {
    return std::nullopt;
  }
  constexpr double kNanosecond = 1e-9;
  const double at_s = static_cast<double>(*at) * kNanosecond;
  // A clock of another time namespace is of no use.
  return CountSeen{.count = static_cast<double>(*steps),
                   .at_s = at_s > 0.0 && at_s <= now_s ? at_s : now_s};
}

}  // namespace carpool::observe
