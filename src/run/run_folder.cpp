#include "run/run_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files/file.hpp"
#include "base/log.hpp"
#include "base/process/descriptor.hpp"
#include "base/result.hpp"

namespace carpool::run {
namespace {

// Empty when there is no such file; Corrupt when Carpool did not write it.
template <class T>
Result<std::optional<T>> read_record(const std::filesystem::path& path,
                                     Result<T> (*parse)(std::string_view)) {
  const Result<std::string> text = read_file(path);
  if (!text && text.error().code == ErrorCode::NotFound) {
    return std::nullopt;
  }
  if (!text) {
    // Not a regular file, or far too long.
    const bool damaged = text.error().code == ErrorCode::InvalidInput;
    return fail(damaged ? ErrorCode::Corrupt : text.error().code, text.error().message);
  }
  Result<T> record = parse(*text);
  if (!record) {
    return fail(record.error().code, fmt::format("{}: {}", path.string(), record.error().message));
  }
  return std::optional<T>(std::move(*record));
}

Result<std::optional<ExitRecord>> read_exit_of(const std::filesystem::path& path,
                                               std::string_view journal) {
  Result<std::optional<ExitRecord>> record = read_record<ExitRecord>(path, read_exit);
  if (record && *record && (*record)->journal != journal) {
    return fail(ErrorCode::Corrupt,
                fmt::format("{}: of the journal \"{}\"", path.string(), (*record)->journal));
  }
  return record;
}

}  // namespace

RunFolder RunFolder::of(const std::filesystem::path& runs, RunId run) {
  return RunFolder(runs / fmt::format("{}.{}", run.job, run.attempt));
}

Result<void> RunFolder::make() const {
  if (::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(ErrorCode::Internal, fmt::format("create {}: {}", path_.string(), last_error()));
  }
  return {};
}

Result<bool> RunFolder::claim(const RunClaim& claim) const {
  const std::filesystem::path target = path_ / "claim";
  if (::access(target.c_str(), F_OK) == 0) {
    return false;  // on a full disk, too
  }
  // Written under another name and then linked: an existing claim is always complete.
  const std::filesystem::path whole = path_ / fmt::format("claim.{}", ::getpid());
  if (const Result<void> written = write_file(whole, write_claim(claim)); !written) {
    return tl::unexpected(written.error());
  }
  const int linked = ::link(whole.c_str(), target.c_str());
  const int problem = errno;
  ::unlink(whole.c_str());
  if (linked == 0) {
    return true;
  }
  if (problem == EEXIST) {
    return false;
  }
  return fail(
      ErrorCode::Internal,
      fmt::format("claim {}: {}", target.string(), std::generic_category().message(problem)));
}

Result<std::optional<RunClaim>> RunFolder::claimed() const {
  return read_record<RunClaim>(path_ / "claim", read_claim);
}

bool RunFolder::belongs_to(std::string_view journal) const {
  const Result<std::optional<RunClaim>> claim = claimed();
  return claim && *claim && is_of(**claim, journal);
}

Result<void> RunFolder::write_leader(const gpu::ProcessIdentity& leader,
                                     const std::string& journal) const {
  return write_file(path_ / "leader", run::write_leader(leader, journal));
}

Result<std::optional<gpu::ProcessIdentity>> RunFolder::leader() const {
  return read_record<gpu::ProcessIdentity>(path_ / "leader", read_leader);
}

Result<void> RunFolder::write_pause(const gpu::ProcessIdentity& server,
                                    const std::string& journal) const {
  return write_file(path_ / "pause", run::write_leader(server, journal));
}

Result<std::optional<gpu::ProcessIdentity>> RunFolder::pause() const {
  return read_record<gpu::ProcessIdentity>(path_ / "pause", read_leader);
}

Result<void> RunFolder::remove_pause() const {
  const std::filesystem::path file = path_ / "pause";
  if (::unlink(file.c_str()) != 0 && errno != ENOENT) {
    return fail(ErrorCode::Internal, fmt::format("remove {}: {}", file.string(), last_error()));
  }
  return {};
}

Result<void> RunFolder::write_exit(const ExitRecord& exit) const {
  const std::string text = run::write_exit(exit);
  return write_file(path_ / "exit.copy", text).and_then([&] {
    return write_file(path_ / "exit", text);
  });
}

Result<std::optional<ExitRecord>> RunFolder::exit(std::string_view journal) const {
  Result<std::optional<ExitRecord>> first = read_exit_of(path_ / "exit", journal);
  if (first && *first) {
    return first;
  }
  Result<std::optional<ExitRecord>> second = read_exit_of(path_ / "exit.copy", journal);
  if (second && *second) {
    if (!first) {
      log_warning(fmt::format("{}; its copy is used", first.error().message));
    }
    return second;
  }
  // An error that may pass comes first: what cannot be read now may be whole.
  if (!second && (first || second.error().code != ErrorCode::Corrupt)) {
    return second;
  }
  return first;
}

bool is_of(const RunClaim& claim, std::string_view journal) {
  return claim.journal.empty() || claim.journal == journal;
}

std::string tail_of(const std::filesystem::path& file, std::size_t bytes) {
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status{};
  if (!opened.valid() || ::fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return {};
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  std::string text(std::min(size, bytes), '\0');
  const ssize_t got =
      ::pread(opened.get(), text.data(), text.size(), static_cast<off_t>(size - text.size()));
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

}  // namespace carpool::run
