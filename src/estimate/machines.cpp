#include "estimate/machines.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "base/text/memory_size.hpp"
#include "base/text/names.hpp"

namespace carpool::estimate {
namespace {

// PyTorch's defaults: 32 MiB from Hopper on, else 2 x 4096 + 8 x 16 KiB.
constexpr std::int64_t kHopperWorkspace = 32 * kMiB;
constexpr std::int64_t kOlderWorkspace = std::int64_t{8320} << 10;
constexpr double kHopper = 9.0;

// The context on an H200, in 59 processes: 742 to 760 MiB in those that trained, 622 to 688 in the
// others.
const std::array<MachineFacts, 2>& table() {
  static const std::array<MachineFacts, 2> machines = {
      MachineFacts{
          .name = "h200",
          .context_bytes = 760 * kMiB,
          .cublas_workspace = kHopperWorkspace,
          .constant_bytes = kMiB,
          .memory_bytes = 143'156 * kMiB,
          .convolutions_measured = true,
          .source = "measured: data/memory-collected/fresh.jsonl.gz (torch 2.11, CUDA 13.0)"},
      // No context: the published measurements are nvidia-smi readings of whole GPUs, so it is
      // fitted.
      MachineFacts{.name = "a100",
                   .cublas_workspace = kOlderWorkspace,
                   .matmul_transient = kMiB,
                   .memory_bytes = 40'960 * kMiB,
                   .source = "data/gpumemnet/README.md"}};
  return machines;
}

}  // namespace

std::span<const MachineFacts> known_machines() {
  return table();
}

Result<MachineFacts> find_machine(std::string_view name) {
  std::vector<std::string_view> names;
  for (const MachineFacts& machine : table()) {
    if (machine.name == name) {
      return machine;
    }
    names.push_back(machine.name);
  }
  return tl::unexpected(unknown_name("machine", name, names));
}

MachineFacts machine_for(std::string_view compute_capability) {
  double capability = kHopper;
  std::from_chars(
      compute_capability.data(), compute_capability.data() + compute_capability.size(), capability);
  MachineFacts machine = table().front();
  machine.cublas_workspace = capability >= kHopper ? kHopperWorkspace : kOlderWorkspace;
  machine.source = "context of an H200: none was measured on this GPU";
  return machine;
}

}  // namespace carpool::estimate
