#include "gpu/cupti/inject/record_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.hpp"

namespace carpool::gpu::inject {
namespace {

namespace format = activity_format;

constexpr std::size_t kGatherBytes = std::size_t{1} << 20U;
constexpr int kProgramsOfOneProcess = 100;

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

template <class T>
std::string_view bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

std::string program_name() {
  std::array<char, 64> name{};
  const int file = ::open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return {};
  }
  const ssize_t got = ::read(file, name.data(), name.size());
  ::close(file);
  std::string text(name.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  while (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  return text;
}

int make_file(const std::string& folder) {
  const std::string start =
      folder + "/" + std::string(format::kFilePrefix) + std::to_string(::getpid());
  std::string name = start + format::kFileSuffix;
  for (int again = 2; again <= kProgramsOfOneProcess; ++again) {
    const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (file >= 0 || errno != EEXIST) {
      return file;
    }
    name = start + "." + std::to_string(again) + format::kFileSuffix;
  }
  return -1;
}

}  // namespace

bool RecordFile::open(const std::string& folder, std::uint32_t cupti_version) {
  fd_ = make_file(folder);
  if (fd_ < 0) {
    return false;
  }
  format::FileStart start;
  start.pid = static_cast<std::uint32_t>(::getpid());
  start.parent_pid = static_cast<std::uint32_t>(::getppid());
  start.cupti_version = cupti_version;
  start.start_ns = monotonic_ns();
  append(format::RecordType::FileStart, bytes_of(start), program_name());
  flush();
  return true;
}

void RecordFile::device(const format::Device& device, std::string_view name) {
  append(format::RecordType::Device, bytes_of(device), name);
}

void RecordFile::kernel(const format::Kernel& kernel, std::string_view name) {
  append(format::RecordType::Kernel, bytes_of(kernel), name);
}

void RecordFile::launches(std::span<const format::Launch> launches) {
  append(format::RecordType::Launches, bytes_of(launches), {});
}

void RecordFile::memory_operations(std::span<const format::MemoryOperation> operations) {
  append(format::RecordType::MemoryOperations, bytes_of(operations), {});
}

void RecordFile::range(const format::Range& range, std::string_view name) {
  append(format::RecordType::Range, bytes_of(range), name);
}

void RecordFile::counter_set(const format::CounterSet& set, std::string_view names) {
  append(format::RecordType::CounterSet, bytes_of(set), names);
}

void RecordFile::counter_samples(std::span<const format::CounterSample> samples) {
  append(format::RecordType::CounterSamples, bytes_of(samples), {});
}

void RecordFile::note(format::NoteKind kind, int code, std::string_view text) {
  const format::Note note{static_cast<std::uint32_t>(kind), code, monotonic_ns()};
  append(format::RecordType::Note, bytes_of(note), text);
}

void RecordFile::window(bool recording, std::int64_t at_ns) {
  const format::Window window{at_ns, recording ? 1U : 0U, 0};
  append(format::RecordType::Window, bytes_of(window), {});
}

void RecordFile::end(const format::End& end) {
  append(format::RecordType::End, bytes_of(end), {});
  flush();
}

void RecordFile::append(format::RecordType type, std::string_view fixed, std::string_view text) {
  if (fixed.empty()) {
    return;
  }
  text = text.substr(0, format::kMaxRecordBytes - fixed.size());
  const format::RecordHeader header{
      static_cast<std::uint16_t>(type), 0, static_cast<std::uint32_t>(fixed.size() + text.size())};
  const std::lock_guard lock(mutex_);
  if (fd_ < 0) {
    return;
  }
  gathered_.append(bytes_of(header)).append(fixed).append(text);
  if (gathered_.size() >= kGatherBytes) {
    flush_locked();
  }
}

void RecordFile::flush() {
  const std::lock_guard lock(mutex_);
  flush_locked();
}

void RecordFile::flush_locked() {
  std::string_view rest = gathered_;
  while (fd_ >= 0 && !rest.empty()) {
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      // The disk is full. Records after a torn one would be unreadable: write no more.
      fd_ = -1;
      break;
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  gathered_.clear();
}

}  // namespace carpool::gpu::inject
