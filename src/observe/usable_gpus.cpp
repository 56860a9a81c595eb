#include "observe/usable_gpus.hpp"

#include <utility>

namespace carpool::observe {

Result<UsableGpus> find_usable_gpus(std::unique_ptr<TelemetrySource> source, bool mps) {
  const auto gpus = source->list_gpus();
  if (!gpus) {
    return tl::unexpected(gpus.error());
  }
  UsableGpus found{.source = std::move(source)};
  std::vector<GpuView> instances;
  for (const GpuInfo& gpu : *gpus) {
    if (!gpu.mig_enabled) {
      found.views.push_back({.uuid = gpu.uuid,
                             .name = gpu.name,
                             .memory_bytes = gpu.memory_bytes,
                             .mps_possible = mps && gpu.compute_mode != "prohibited",
                             .slo_outside_mps = !gpu.only_one_process()});
      found.watched.push_back(gpu);
      continue;
    }
    for (const MigSlice& slice : gpu.mig) {
      instances.push_back(
          {.uuid = slice.uuid, .name = gpu.name, .memory_bytes = slice.memory_bytes});
    }
  }
  found.views.insert(found.views.end(), instances.begin(), instances.end());
  for (std::size_t place = 0; place < found.views.size(); ++place) {
    found.views[place].index = static_cast<unsigned>(place);
  }
  if (found.views.empty()) {
    return fail(ErrorCode::NotFound, "the driver works, but there is no GPU that jobs could use");
  }
  return found;
}

}  // namespace carpool::observe
