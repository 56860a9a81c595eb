#include "simulate/cluster_spec.hpp"

#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/text/names.hpp"
#include "simulate/trace/trace.hpp"

namespace carpool::simulate {
namespace {

constexpr unsigned kMostGpusOfCluster = 100000;
constexpr std::uint64_t kMibPerGib = 1024;

struct KnownGpu {
  std::string_view name;
  std::uint64_t mib;  // as nvidia-smi shows it
};
constexpr std::array kGpus = {KnownGpu{"A100-40", 40960},
                              KnownGpu{"A100-80", 81920},
                              KnownGpu{"H100-80", 81559},
                              KnownGpu{"H200", 143771},
                              KnownGpu{"L40S", 46068},
                              KnownGpu{"RTX2080Ti", 11264},
                              KnownGpu{"V100-16", 16384},
                              KnownGpu{"V100-32", 32768}};

Result<std::uint64_t> memory_of(std::string_view name) {
  if (name.ends_with("GiB")) {
    std::uint64_t gib = 0;
    const std::string digits(name.substr(0, name.size() - 3));
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, gib);
    if (error == std::errc() && stop == end && gib > 0 && gib <= kMibPerGib) {
      return gib * kMibPerGib * kMebibyte;
    }
  }
  if (!name.empty() && name.find_first_not_of("0123456789.") == std::string_view::npos) {
    return invalid_input(
        fmt::format("{0} has no unit; write {0}GiB for GPUs with {0} GiB, as in 4x{0}GiB", name));
  }
  const auto found = find_named(std::span<const KnownGpu>(kGpus), "GPU", name);
  if (!found) {
    return tl::unexpected(found.error());
  }
  return (*found)->mib * kMebibyte;
}

}  // namespace

Result<ClusterSpec> parse_cluster(std::string_view text) {
  const std::size_t cross = text.find('x');
  unsigned count = 0;
  const std::string digits(text.substr(0, cross));
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, count);
  if (cross == std::string_view::npos || error != std::errc() || stop != end || count == 0 ||
      count > kMostGpusOfCluster) {
    return invalid_input(
        fmt::format("cluster \"{}\": expected COUNTxGPU as in 4xA100-40 or 8x24GiB, 1 to {} GPUs",
                    text,
                    kMostGpusOfCluster));
  }
  const auto memory = memory_of(text.substr(cross + 1));
  if (!memory) {
    return tl::unexpected(memory.error());
  }
  return ClusterSpec{.name = std::string(text), .gpus = count, .memory_bytes = *memory};
}

std::vector<GpuView> empty_gpus(const ClusterSpec& spec) {
  std::vector<GpuView> gpus(spec.gpus);
  for (unsigned i = 0; i < spec.gpus; ++i) {
    gpus[i].index = i;
    gpus[i].uuid = fmt::format("simulated-{}", i);
    gpus[i].name = spec.name.substr(spec.name.find('x') + 1);
    gpus[i].memory_bytes = spec.memory_bytes;
    gpus[i].mps_possible = true;
  }
  return gpus;
}

}  // namespace carpool::simulate
