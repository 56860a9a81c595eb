#include "run/run_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files/file.hpp"
#include "base/process/descriptor.hpp"
#include "base/result.hpp"

namespace carpool::run {
namespace {

using nlohmann::json;

// Empty when there is no such file; Corrupt when Carpool did not write it.
template <class T>
Result<std::optional<T>> read_record(const std::filesystem::path& path,
                                     const std::function<T(const json&)>& parse) {
  const Result<std::string> text = read_file(path);
  if (!text) {
    return text.error().code == ErrorCode::NotFound ? Result<std::optional<T>>(std::nullopt)
                                                    : tl::unexpected(text.error());
  }
  try {
    return std::optional<T>(parse(json::parse(*text)));
  } catch (const json::exception& problem) {
    return fail(ErrorCode::Corrupt,
                fmt::format("{}: not written by Carpool: {}", path.string(), problem.what()));
  }
}

template <class T>
std::optional<T> optional_at(const json& object, const char* key) {
  return object.contains(key) ? std::optional<T>(object.at(key).get<T>()) : std::nullopt;
}

json to_json(const gpu::ProcessIdentity& process) {
  return {{"pid", process.pid}, {"start_ticks", process.start_ticks}};
}

gpu::ProcessIdentity process_from(const json& object) {
  return {object.at("pid").get<pid_t>(), object.at("start_ticks").get<std::uint64_t>()};
}

ExitRecord exit_from(const json& object) {
  ExitRecord exit;
  exit.code = optional_at<int>(object, "code");
  exit.signal = optional_at<int>(object, "signal");
  exit.not_started = object.value("not_started", "");
  exit.stop_asked = object.value("stop_asked", false);
  exit.mps_fault = object.value("mps_fault", false);
  exit.host_memory = object.value("host_memory", false);
  exit.at_s = object.at("at_s").get<double>();
  return exit;
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
  json content = {{"abandoned", claim.abandoned}, {"boot", claim.boot}};
  content.update(to_json(claim.supervisor));
  // Written under another name and then linked: an existing claim is always complete.
  const std::filesystem::path whole = path_ / fmt::format("claim.{}", ::getpid());
  if (const Result<void> written = write_file(whole, content.dump()); !written) {
    return tl::unexpected(written.error());
  }
  const std::filesystem::path target = path_ / "claim";
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
  return read_record<RunClaim>(path_ / "claim", [](const json& object) {
    return RunClaim{.abandoned = object.at("abandoned").get<bool>(),
                    .supervisor = process_from(object),
                    .boot = object.at("boot").get<std::string>()};
  });
}

Result<void> RunFolder::write_leader(const gpu::ProcessIdentity& leader) const {
  return write_file(path_ / "leader", to_json(leader).dump());
}

Result<std::optional<gpu::ProcessIdentity>> RunFolder::leader() const {
  return read_record<gpu::ProcessIdentity>(path_ / "leader", process_from);
}

Result<void> RunFolder::write_exit(const ExitRecord& exit) const {
  json content = {{"stop_asked", exit.stop_asked},
                  {"mps_fault", exit.mps_fault},
                  {"host_memory", exit.host_memory},
                  {"at_s", exit.at_s}};
  if (exit.code) {
    content["code"] = *exit.code;
  }
  if (exit.signal) {
    content["signal"] = *exit.signal;
  }
  if (!exit.not_started.empty()) {
    content["not_started"] = exit.not_started;
  }
  return write_file(path_ / "exit", content.dump(-1, ' ', false, json::error_handler_t::replace));
}

Result<std::optional<ExitRecord>> RunFolder::exit() const {
  return read_record<ExitRecord>(path_ / "exit", exit_from);
}

std::string tail_of(const std::filesystem::path& file, std::size_t bytes) {
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
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
