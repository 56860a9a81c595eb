#include "gpu/cupti/window_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace carpool::gpu {
namespace {

using Bytes = std::array<std::byte, sizeof(window_format::Block)>;

tl::unexpected<Error> window_failure(const std::filesystem::path& path, std::string_view what) {
  return fail(ErrorCode::Internal,
              fmt::format("{} the window file {}: {}", what, path.string(), last_error()));
}

// A slot as the file holds it: plain data, whatever the user wrote there.
struct PlainSlot {
  std::uint32_t pid = 0;
  std::uint32_t window = 0;
  std::uint32_t state = 0;
  std::int32_t code = 0;
  std::uint64_t launches = 0;
  std::int64_t over_ns = 0;
  window_format::Kernels kernels{};
};
static_assert(sizeof(window_format::Slot) == sizeof(PlainSlot) &&
              offsetof(window_format::Slot, kernels) == offsetof(PlainSlot, kernels));

PlainSlot slot_in(const Bytes& bytes, std::size_t place) {
  PlainSlot slot;
  std::memcpy(
      &slot,
      bytes.data() + offsetof(window_format::Block, slots) + place * sizeof(window_format::Slot),
      sizeof(slot));
  return slot;
}

Result<Bytes> read_block(int file) {
  Bytes bytes{};
  if (::pread(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return fail(ErrorCode::Corrupt, "a window file is shorter than its format");
  }
  return bytes;
}

// A sum over processes for what adds up, and means weighted by kernel time.
void add_kernels(WindowAnswers& answers, const PlainSlot& slot, double over_s) {
  constexpr double kMillionth = 1e-6;
  constexpr double kMicrosecond = 1e-3;  // of a nanosecond
  constexpr std::uint32_t kWhole = 1'000'000;
  const window_format::Kernels& seen = slot.kernels;
  if (seen.count == 0 || seen.fill == 0 ||
      std::max({seen.busy, seen.active, seen.fill, seen.warps}) > kWhole) {
    return;
  }
  KernelWindow& sum = answers.kernels ? *answers.kernels : answers.kernels.emplace();
  const double count = static_cast<double>(seen.count);
  const double before = static_cast<double>(sum.kernels) * sum.mean_us;
  const double time_us = count * kMicrosecond * seen.mean_ns;
  const double weight = before + time_us > 0.0 ? time_us / (before + time_us) : 0.0;
  sum.fill += weight * (kMillionth * seen.fill - sum.fill);
  sum.warps += weight * (kMillionth * seen.warps - sum.warps);
  sum.mean_us = (before + time_us) / (static_cast<double>(sum.kernels) + count);
  sum.p90_us = std::max(sum.p90_us, kMicrosecond * seen.p90_ns);
  sum.kernels += seen.count;
  sum.busy = std::min(sum.busy + kMillionth * seen.busy, 1.0);
  sum.active = std::min(sum.active + kMillionth * seen.active, 1.0);
  sum.launches_per_s += static_cast<double>(slot.launches) / over_s;
  sum.over_s = std::max(sum.over_s, over_s);
}

void add_answer(WindowAnswers& answers, const PlainSlot& slot) {
  constexpr double kNanosecond = 1e-9;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40U;
  switch (static_cast<window_format::State>(slot.state)) {
    case window_format::State::Open:
      ++answers.open;
      break;
    case window_format::State::Done:
      if (slot.over_ns > 0 && slot.launches < kMost) {
        const double over_s = static_cast<double>(slot.over_ns) * kNanosecond;
        ++answers.done;
        answers.launches += slot.launches;
        answers.per_s += static_cast<double>(slot.launches) / over_s;
        answers.over_s = std::max(answers.over_s, over_s);
        add_kernels(answers, slot, over_s);
      }
      break;
    case window_format::State::Spoiled:
      ++answers.spoiled;
      break;
    case window_format::State::Busy:
    case window_format::State::NoCupti:
    case window_format::State::Refused:
    case window_format::State::Unseen:
      if (!answers.refusal) {
        answers.refusal = static_cast<window_format::State>(slot.state);
        answers.code = slot.code;
      }
      break;
    case window_format::State::None:
      break;
  }
}

}  // namespace

Result<WindowFile> WindowFile::create(const std::filesystem::path& path,
                                      std::optional<uid_t> owner) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.valid()) {
    return window_failure(path, "create");
  }
  // A page that a full disk cannot provide would kill a process that touches it.
  if (const int code = ::posix_fallocate(file.get(), 0, sizeof(window_format::Block)); code != 0) {
    errno = code;
    return window_failure(path, "allocate");
  }
  alignas(window_format::Block) Bytes bytes{};
  new (bytes.data()) window_format::Block;
  if (::pwrite(file.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()) ||
      (owner && ::fchown(file.get(), *owner, static_cast<gid_t>(-1)) != 0)) {
    return window_failure(path, "prepare");
  }
  return WindowFile(std::move(file));
}

Result<WindowFile> WindowFile::open(const std::filesystem::path& path) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status{};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) {
    return window_failure(path, "open");
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::Corrupt, fmt::format("{} is not a regular file", path.string()));
  }
  return WindowFile(std::move(file));
}

Result<std::uint32_t> WindowFile::order(std::uint32_t length_ms,
                                        std::int64_t start_ns,
                                        window_format::Kind kind) {
  constexpr std::size_t kAt = offsetof(window_format::Block, order);
  static_assert(offsetof(window_format::Order, length_ms) == 4 &&
                offsetof(window_format::Order, start_ns) == 8 &&
                offsetof(window_format::Order, kind) == 16);
  std::uint32_t number = 0;
  if (::pread(file_.get(), &number, sizeof(number), kAt) != sizeof(number)) {
    return fail(ErrorCode::Corrupt, "a window file is shorter than its format");
  }
  ++number;
  std::array<std::byte, 16> rest{};
  std::memcpy(rest.data(), &length_ms, sizeof(length_ms));
  std::memcpy(rest.data() + sizeof(length_ms), &start_ns, sizeof(start_ns));
  std::memcpy(rest.data() + sizeof(length_ms) + sizeof(start_ns), &kind, sizeof(kind));
  // The number last: a process that sees it sees the rest.
  if (::pwrite(file_.get(), rest.data(), rest.size(), kAt + 4) !=
          static_cast<ssize_t>(rest.size()) ||
      ::pwrite(file_.get(), &number, sizeof(number), kAt) != sizeof(number)) {
    return fail(ErrorCode::Internal, fmt::format("order a window: {}", last_error()));
  }
  return number;
}

Result<WindowAnswers> WindowFile::answers(std::uint32_t window) const {
  const Result<Bytes> states = read_block(file_.get());
  // Read again: what was written before a state that has been read is now in the file.
  const Result<Bytes> values = states ? read_block(file_.get()) : states;
  if (!values) {
    return tl::unexpected(values.error());
  }
  WindowAnswers answers;
  for (std::size_t place = 0; place < window_format::kSlots; ++place) {
    const PlainSlot before = slot_in(*states, place);
    PlainSlot slot = slot_in(*values, place);
    if (before.window != window || slot.window != window) {
      continue;
    }
    slot.state = before.state;
    add_answer(answers, slot);
  }
  return answers;
}

}  // namespace carpool::gpu
