#include "app/inputs/profile_ncu.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/files/file.hpp"
#include "gpu/mps/mps_environment.hpp"
#include "profile/metric_names.hpp"
#include "profile/ncu/ncu_csv.hpp"
#include "profile/ncu/ncu_run.hpp"

namespace carpool::app {
namespace {

// Share of the GPU time that is profiled: the rest is not worth a second per kernel.
constexpr double kShareUnderNcu = 0.995;

void set_ncu_metrics(profile::Metrics metrics, profile::WorkloadProfile& profile) {
  profile.ncu = std::move(metrics);
  for (const auto& [name, value] : profile.ncu) {
    if (profile::find_metric(name) != nullptr) {
      profile.metrics[name] = value;
      profile.substitute_metrics.erase(name);
    }
  }
}

}  // namespace

Result<void> add_ncu_run(const profile::ProfileRequest& request,
                         double most_seconds,
                         const profile::ProfileEvents& events,
                         profile::ProfileResult& result) {
  const std::filesystem::path& scratch = request.program.scratch;
  const profile::NcuRequest ncu{.command = request.program.command,
                                .folder = scratch,
                                .symbols = profile::symbols_of(result.kernels, kShareUnderNcu)};
  std::size_t wanted = 0;
  for (const profile::KernelRow& row : result.kernels.rows) {
    wanted += std::find(ncu.symbols.begin(), ncu.symbols.end(), row.symbol) != ncu.symbols.end();
  }
  const Stopwatch watch;
  const auto launches = profile::run_ncu(
      ncu,
      gpu::environment_without_mps(request.gpu.uuid, scratch / "no-mps"),
      {.longest = std::chrono::milliseconds(static_cast<long>(most_seconds * 1e3)),
       .kernels = wanted,
       .stop = events.stop,
       .profiled = [&](std::size_t done) {
         events.progress(fmt::format("Nsight Compute, {} of {} kernels", done, wanted));
       }});
  if (!launches) {
    return tl::unexpected(launches.error());
  }
  set_ncu_metrics(
      profile::ncu_metrics(*launches, result.kernels.rows.empty() ? nullptr : &result.kernels),
      result.profile);
  result.profile.notes.push_back(
      fmt::format("Nsight Compute profiled {} of {} distinct kernels in {:.0f} s",
                  launches->size(),
                  wanted,
                  watch.seconds()));
  return {};
}

Result<NcuImport> import_ncu(const std::string& export_file,
                             const std::string& name,
                             const std::filesystem::path& profile_file) {
  const auto text = read_file(export_file);
  if (!text) {
    return tl::unexpected(text.error());
  }
  const auto launches = profile::parse_ncu_csv(*text, export_file);
  if (!launches) {
    return tl::unexpected(launches.error());
  }
  profile::WorkloadProfile profile;
  std::error_code ignored;
  if (std::filesystem::exists(profile_file, ignored)) {
    auto before = profile::load_profile(profile_file);
    if (!before) {
      return tl::unexpected(before.error());
    }
    profile = std::move(*before);
  }
  profile.workload = name;
  set_ncu_metrics(profile::ncu_metrics(*launches, nullptr), profile);
  profile.notes.push_back(
      fmt::format("kernel metrics of {} launches from {}", launches->size(), export_file));
  return NcuImport{.profile = std::move(profile), .launches = launches->size()};
}

}  // namespace carpool::app
