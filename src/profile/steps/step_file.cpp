#include "profile/steps/step_file.hpp"

#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/files/step_file_format.hpp"

namespace carpool::profile {

namespace format = step_file_format;

namespace {

constexpr std::uint64_t kCapacity = 65'536;
constexpr std::size_t kBytes = format::bytes_of(kCapacity);

tl::unexpected<Error> refused(const std::filesystem::path& path, const char* what, int code) {
  return fail(
      ErrorCode::Internal,
      fmt::format(
          "step file {}: {}: {}", path.string(), what, std::generic_category().message(code)));
}

}  // namespace

void StepFile::Unmap::operator()(void* memory) const {
  munmap(memory, kBytes);
}

// Shared with another process: aligned words, read and written atomically.
template <class Word>
Word& StepFile::at(std::size_t offset) const {
  return *reinterpret_cast<Word*>(static_cast<char*>(memory_.get()) + offset);
}

Result<StepFile> StepFile::create(const std::filesystem::path& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) {
    return refused(path, "cannot create", errno);
  }
  // Touching a page that a full disk cannot provide would kill the process. Does not set errno.
  if (const int code = posix_fallocate(file, 0, kBytes); code != 0) {
    close(file);
    return refused(path, "cannot allocate", code);
  }
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int code = errno;
  close(file);
  if (memory == MAP_FAILED) {
    return refused(path, "cannot map", code);
  }
  StepFile made(path, memory);
  made.at<std::uint32_t>(format::kVersionAt) = format::kVersion;
  made.at<std::uint32_t>(format::kCapacityAt) = static_cast<std::uint32_t>(kCapacity);
  made.at<double>(format::kUnitsAt) = 1.0;
  // Last, so that a workload that sees the magic sees the rest.
  std::atomic_thread_fence(std::memory_order_release);
  std::memcpy(memory, format::kMagic, sizeof format::kMagic);
  return made;
}

void StepFile::give(StepOrder order) {
  std::atomic_ref(at<std::uint32_t>(format::kOrderAt)).store(static_cast<std::uint32_t>(order));
}

void StepFile::set_cores(std::uint64_t mask) {
  std::atomic_ref(at<std::uint64_t>(format::kCoresAt)).store(mask);
}

StepState StepFile::state() const {
  const std::uint32_t state = std::atomic_ref(at<std::uint32_t>(format::kStateAt)).load();
  return state <= 3 ? static_cast<StepState>(state) : StepState::Ended;
}

std::uint64_t StepFile::steps() const {
  return std::atomic_ref(at<std::uint64_t>(format::kStepsAt)).load();
}

double StepFile::units_per_step() const {
  const double units = std::atomic_ref(at<double>(format::kUnitsAt)).load();
  return std::isfinite(units) && units > 0.0 ? units : 1.0;
}

std::optional<std::int64_t> StepFile::pid() const {
  const std::uint64_t pid = std::atomic_ref(at<std::uint64_t>(format::kPidAt)).load();
  return pid == 0 ? std::nullopt : std::optional(static_cast<std::int64_t>(pid));
}

std::optional<std::vector<std::int64_t>> StepFile::ends(std::uint64_t first,
                                                        std::uint64_t last) const {
  std::vector<std::int64_t> out;
  if (last - first >= kCapacity) {  // also catches an invalid count of the workload
    return std::nullopt;
  }
  for (std::uint64_t step = first; step <= last; ++step) {
    const std::size_t slot = format::kRingAt + (step % kCapacity) * sizeof(std::uint64_t);
    out.push_back(static_cast<std::int64_t>(std::atomic_ref(at<std::uint64_t>(slot)).load()));
  }
  // Checked after reading: the workload may have overwritten the ring meanwhile.
  const std::uint64_t done = steps();
  if (last >= done || first + kCapacity <= done) {
    return std::nullopt;
  }
  return out;
}

}  // namespace carpool::profile
