#include "measure/host.hpp"

#include <algorithm>
#include <cstdint>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/files/file.hpp"

namespace carpool::measure {
namespace {

// From SIGTERM to SIGKILL.
constexpr std::chrono::milliseconds kKillGrace{200};

constexpr const char* kErrorFile = "err";

// Killing an MPS client that has work on the GPU is undefined for the other clients.
void drain(const Hosts& stuck, gpu::MpsDaemon& mps) {
  for (const gpu::MpsClient& client : mps.clients().value_or(std::vector<gpu::MpsClient>())) {
    if (std::ranges::any_of(stuck, [&](const auto& host) { return host->owns(client.pid); })) {
      static_cast<void>(mps.terminate_client(client));
    }
  }
}

}  // namespace

void Host::RemoveFolder::operator()(const std::filesystem::path* folder) const {
  std::error_code ignored;
  std::filesystem::remove_all(*folder, ignored);
  delete folder;
}

Result<Host> Host::start(Command command, std::size_t slots, const std::filesystem::path& folder) {
  std::error_code problem;
  if (!std::filesystem::create_directory(folder, problem)) {
    return fail(ErrorCode::Internal,
                fmt::format("folder {} for a worker: {}",
                            folder.string(),
                            problem ? problem.message() : "it exists already"));
  }
  OwnFolder own(new std::filesystem::path(folder));
  std::vector<profile::StepFile> files;
  std::string paths;
  for (std::size_t i = 0; i < slots; ++i) {
    auto file = profile::StepFile::create(folder / fmt::format("steps{}", i));
    if (!file) {
      return tl::unexpected(file.error());
    }
    paths += paths.empty() ? "" : ":";
    paths += file->path().string();
    files.push_back(std::move(*file));
  }
  command.environment["CARPOOL_STEP_FILE"] = paths;
  command.dies_with_parent = true;
  auto child = ChildProcess::start(
      command, {.stdout_file = folder / "out", .stderr_file = folder / kErrorFile});
  if (!child) {
    return tl::unexpected(child.error());
  }
  return Host(std::move(own), std::move(*child), std::move(files));
}

pid_t Host::pid_of(std::size_t slot) const {
  const auto own = slots_[slot].pid();
  return own ? static_cast<pid_t>(*own) : child_.pid();
}

bool Host::owns(pid_t pid) const {
  return child_.pid() == pid || std::ranges::any_of(slots_, [pid](const profile::StepFile& slot) {
           return slot.pid() == pid;
         });
}

bool Host::all_held() const {
  return std::ranges::all_of(slots_, [](const profile::StepFile& slot) {
    return slot.state() == profile::StepState::Held;
  });
}

bool Host::follows_orders() const {
  return std::ranges::any_of(slots_, [](const profile::StepFile& slot) {
    return slot.state() != profile::StepState::Starting;
  });
}

std::optional<Failure> Host::death() {
  const auto status = child_.poll();
  if (!status) {
    return std::nullopt;
  }
  const auto words = read_file(*folder_ / kErrorFile);
  return explain_death(status->text(), words ? *words : std::string());
}

void Host::order_end() {
  for (profile::StepFile& slot : slots_) {
    slot.give(profile::StepOrder::End);
  }
}

bool Host::ends_within(std::chrono::milliseconds limit) {
  return child_.wait_for(limit).has_value();
}

void Host::kill() {
  child_.end(kKillGrace);
}

void end_hosts(const Hosts& hosts, std::chrono::milliseconds grace, gpu::MpsDaemon* mps) {
  for (const auto& host : hosts) {
    host->order_end();  // all of them first, so that they end in parallel
  }
  const std::int64_t deadline = monotonic_ns() + std::chrono::nanoseconds(grace).count();
  Hosts stuck;
  for (const auto& host : hosts) {
    // A host that is still starting would see the order too late.
    const std::int64_t left = host->follows_orders() ? (deadline - monotonic_ns()) / 1'000'000 : 0;
    if (!host->ends_within(std::chrono::milliseconds(std::max<std::int64_t>(left, 0)))) {
      stuck.insert(host);
    }
  }
  if (mps != nullptr && !stuck.empty()) {
    drain(stuck, *mps);
  }
  for (const auto& host : stuck) {
    host->kill();
  }
}

}  // namespace carpool::measure
