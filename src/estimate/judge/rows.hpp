// Measured jobs as JSON lines, the format of data/memory-h200 (docs/estimate.md): one object a
// configuration with what was run, what the model is made of, and what memory it took.
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
  Trace,   // the layers, and the bytes that autograd kept, as a trace without a GPU counts them
  Layers,  // configuration, flags, layer list
  Config,  // configuration and flags; of a model known by name, what a catalogue says of the name
};

// "trace", "layers", "config", "flags" (which says the same here as config).
[[nodiscard]] Result<RowView> row_view_named(std::string_view name);

struct MeasuredJob {
  DescribedJob job{};
  std::string group{};     // rows of one model name stay together in a split
  std::size_t line = 0;    // in its file, from 1
  bool finished = true;    // else it ran out of memory: the true peak is above what is given
  bool contested = false;  // measured again by others with another result: told apart in scores
  std::int64_t peak = 0;   // bytes on the GPU, the context included where it is known
  bool peak_has_context = false;  // read from the driver; else it is what PyTorch reserved
  std::optional<std::int64_t> allocated{};       // peak of live tensors
  std::map<std::string, std::int64_t> others{};  // bytes that other estimators said, as published

  // What the job took of the GPU as an estimate has to name it; without a known context, as read.
  [[nodiscard]] std::int64_t truth() const {
    return peak + (peak_has_context ? 0 : job.machine.context_bytes.value_or(0));
  }
};

// Layer lists by model name, for RowView::Config.
using LayerCatalogue = std::map<std::string, LayerList, std::less<>>;

// `name` is what error messages call the text. Rows whose model the view does not know are left out
// and counted.
struct MeasuredJobs {
  std::vector<MeasuredJob> rows{};
  std::size_t without_model = 0;
};
[[nodiscard]] Result<MeasuredJobs> parse_measured_jobs(std::string_view text,
                                                       std::string_view name,
                                                       RowView view,
                                                       const LayerCatalogue& catalogue);
[[nodiscard]] Result<MeasuredJobs> read_measured_jobs(const std::filesystem::path& path,
                                                      RowView view,
                                                      const LayerCatalogue& catalogue);

// Of each named model of such a file, one layer list.
[[nodiscard]] Result<LayerCatalogue> parse_catalogue(std::string_view text, std::string_view name);

}  // namespace carpool::estimate
