// Measured jobs as JSON lines, the format of data/memory-h200 (docs/estimate.md): per job one
// object with the configuration, the layers of the model and the memory used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/text/memory_size.hpp"
#include "core/described_job.hpp"

namespace carpool::estimate {

// A gigabyte in the published sets of measurements and their accuracy classes.
inline constexpr std::int64_t kPublishedGigabyte = 1000 * kMiB;

// How much of a row an estimator may see.
enum class RowView {
  Trace,   // as Layers, and the bytes that autograd keeps, which a trace without a GPU counts
  Layers,  // configuration, flags, layer list
  Config,  // configuration and flags; the layers of a named model from a catalogue
};

// "trace", "layers", "config", "flags" (here the same as config).
[[nodiscard]] Result<RowView> row_view_named(std::string_view name);

struct MeasuredJob {
  DescribedJob job{};
  std::string group{};            // model name: its rows stay together in a train/test split
  std::size_t line = 0;           // in its file, from 1
  bool finished = true;           // false: it ran out of memory, and the true peak is above `peak`
  bool contested = false;         // measured again by others with another result; scored separately
  std::int64_t peak = 0;          // bytes on the GPU, with the context where peak_has_context
  bool peak_has_context = false;  // read from the driver; false: what PyTorch reserved
  std::optional<std::int64_t> allocated{};       // peak of live tensors
  std::map<std::string, std::int64_t> others{};  // published estimates of other estimators, bytes

  // The memory that an estimate has to predict: the peak with the context, where that is known.
  [[nodiscard]] std::int64_t truth() const {
    return peak + (peak_has_context ? 0 : job.machine.context_bytes.value_or(0));
  }
};

// Layer lists by model name, for RowView::Config.
using LayerCatalogue = std::map<std::string, LayerList, std::less<>>;

// Rows whose model is unknown in the view are left out and counted.
struct MeasuredJobs {
  std::vector<MeasuredJob> rows{};
  std::size_t without_model = 0;
};
// `name` is the name of the text in messages.
[[nodiscard]] Result<MeasuredJobs> parse_measured_jobs(std::string_view text,
                                                       std::string_view name,
                                                       RowView view,
                                                       const LayerCatalogue& catalogue);
[[nodiscard]] Result<MeasuredJobs> read_measured_jobs(const std::filesystem::path& path,
                                                      RowView view,
                                                      const LayerCatalogue& catalogue);

// One layer list for each named model of such a file.
[[nodiscard]] Result<LayerCatalogue> parse_catalogue(std::string_view text, std::string_view name);

}  // namespace carpool::estimate
