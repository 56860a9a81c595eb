#include "store/journal_marker.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fcntl.h>
#include <random>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files/file.hpp"
#include "store/checksum.hpp"
#include "store/private_files.hpp"
#include "store/state_files.hpp"

namespace carpool::store {
namespace {

constexpr std::size_t kIdentityDigits = 32;

// Of constant length, so that it can be overwritten in place within one sector.
std::string marker_text(const JournalMarker& marker) {
  const std::string content =
      fmt::format("carpool-journal 1\nidentity {}\nevents {:020}\njob {:020}\n",
                  marker.identity,
                  marker.events,
                  marker.job);
  return fmt::format("{}checksum {:08x}\n", content, crc32(content));
}

}  // namespace

std::string new_identity() {
  std::random_device random;
  std::string digits;
  while (digits.size() < kIdentityDigits) {
    digits += fmt::format("{:08x}", random());
  }
  return digits;
}

Result<std::optional<JournalMarker>> read_marker(const std::filesystem::path& state) {
  const auto text = read_file(marker_file(state));
  if (!text && text.error().code == ErrorCode::NotFound) {
    return std::nullopt;
  }
  if (!text) {
    return tl::unexpected(text.error());
  }
  JournalMarker marker;
  std::array<char, kIdentityDigits + 1> identity{};
  long long events = 0;
  long long job = 0;
  const int read = std::sscanf(text->c_str(),  // and compared as a whole below
                               "carpool-journal 1\nidentity %32[0-9a-f]\nevents %lld\njob %lld\n",
                               identity.data(),
                               &events,
                               &job);
  marker.identity = identity.data();
  marker.events = events;
  marker.job = job;
  if (read != 3 || *text != marker_text(marker)) {
    return fail(ErrorCode::Corrupt,
                fmt::format("{}: damaged; it holds the identity of the journal",
                            marker_file(state).string()));
  }
  return marker;
}

Result<MarkerFile> MarkerFile::create(const std::filesystem::path& state,
                                      const JournalMarker& marker) {
  MarkerFile made;
  made.path_ = marker_file(state);
  made.marker_ = marker;
  auto file = open_private(made.path_);
  if (!file) {
    return tl::unexpected(file.error());
  }
  made.file_ = std::move(*file);
  const std::string text = marker_text(marker);
  if (!made.write() || ::ftruncate(made.file_.get(), static_cast<off_t>(text.size())) != 0 ||
      ::fsync(made.file_.get()) != 0) {
    return fail(ErrorCode::Unavailable,
                fmt::format("{}: cannot be written: {}", made.path_.string(), last_error()));
  }
  sync_folder(state);
  return made;
}

bool MarkerFile::write() const {
  const std::string text = marker_text(marker_);
  return ::pwrite(file_.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

Result<void> MarkerFile::before(JobId job) {
  if (job / kNumbersPerBlock <= marker_.job / kNumbersPerBlock) {
    return {};
  }
  const JobId known = std::exchange(marker_.job, job);
  if (!write() || ::fdatasync(file_.get()) != 0) {
    marker_.job = known;
    return fail(ErrorCode::Unavailable,
                fmt::format("{}: cannot be written: {}", path_.string(), last_error()));
  }
  return {};
}

void MarkerFile::after(std::int64_t events, JobId job) {
  marker_.events = std::max(marker_.events, events);
  marker_.job = std::max(marker_.job, job);
  // A marker that is behind only notices less.
  [[maybe_unused]] const bool written = write();
}

}  // namespace carpool::store
