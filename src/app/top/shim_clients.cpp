#include "app/top/shim_clients.hpp"

#include <algorithm>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "app/launch/shim_environment.hpp"

namespace carpool::app {
namespace {

using interpose::ClientReport;
using interpose::StateReport;

constexpr std::uint64_t kFirstUnnumberedJob = std::uint64_t{1} << 63U;

StateReport read_own_state(const std::string& gpu_uuid) {
  interpose::StateReader reader;
  StateReport report;
  if (reader.open("", gpu_uuid, ::geteuid()) != interpose::StateError::None ||
      reader.read(report) != interpose::StateError::None) {
    return {};
  }
  return report;
}

std::optional<std::uint64_t> limit_of(const StateReport& report, std::uint64_t job) {
  const auto found = std::ranges::find(report.jobs, job, &interpose::JobReport::job);
  return found == report.jobs.end() || found->limit_bytes == interpose::kUnlimited
             ? std::nullopt
             : std::optional(found->limit_bytes);
}

}  // namespace

std::string job_label(std::uint64_t job) {
  return job >= kFirstUnnumberedJob ? "-" : job >= kFirstRunJob ? "run" : std::to_string(job);
}

ClientRates rates_between(const ClientReport& before, const ClientReport& now, double seconds) {
  const auto rate = [&](std::uint64_t ClientReport::* counter) {
    return seconds > 0.0 && now.*counter >= before.*counter
               ? static_cast<double>(now.*counter - before.*counter) / seconds
               : 0.0;
  };
  return {.launches = rate(&ClientReport::launches),
          .graph_launches = rate(&ClientReport::graph_launches),
          .copies = rate(&ClientReport::copies)};
}

std::optional<bool> has_library(const std::vector<ShimClient>& clients, std::int64_t pid) {
  if (clients.empty()) {
    return std::nullopt;
  }
  if (std::ranges::any_of(clients,
                          [&](const ShimClient& client) { return client.seen.pid == pid; })) {
    return true;
  }
  struct stat process{};
  return ::stat(fmt::format("/proc/{}", pid).c_str(), &process) == 0 &&
                 process.st_uid == ::geteuid()
             ? std::optional(false)
             : std::nullopt;
}

std::vector<ShimClient> ShimClientWatch::read(const std::string& gpu_uuid) {
  StateReport report = read_own_state(gpu_uuid);
  std::erase_if(report.clients,
                [](const ClientReport& client) { return client.name == kRunSlotName; });
  Reading& before = before_[gpu_uuid];
  const double now = watch_.seconds();
  std::vector<ShimClient> clients;
  for (const ClientReport& client : report.clients) {
    ShimClient& added = clients.emplace_back();
    added.seen = client;
    added.limit_bytes = limit_of(report, client.job);
    const auto known = std::ranges::find(before.clients, client.id, &ClientReport::id);
    if (known != before.clients.end()) {
      added.rates = rates_between(*known, client, now - before.seconds);
    }
  }
  before = {.seconds = now, .clients = std::move(report.clients)};
  return clients;
}

}  // namespace carpool::app
