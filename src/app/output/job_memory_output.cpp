#include "app/output/job_memory_output.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/output/text_table.hpp"
#include "base/text/memory_size.hpp"
#include "estimate/readers/job_settings.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

constexpr std::size_t kMostLevers = 5;

// Two decimals: estimates of small jobs differ by less than 0.1 GiB.
std::string estimated_gib(std::int64_t bytes) {
  return gib_number(static_cast<std::uint64_t>(bytes), 2);
}

using Part = std::pair<const char*, std::int64_t>;

std::array<Part, 7> parts_of(const MemoryBreakdown& parts) {
  return {Part{"context", parts.context},
          Part{"weights", parts.weights},
          Part{"gradients", parts.gradients},
          Part{"optimizer", parts.optimizer},
          Part{"activations", parts.activations},
          Part{"workspace", parts.workspace},
          Part{"allocator_slack", parts.allocator_slack}};
}

std::string spoken_fit(const FittingBatch& fits) {
  const std::string memory = gib_text(static_cast<std::uint64_t>(fits.memory));
  return fits.largest ? fmt::format("largest batch within {}: {}\n", memory, *fits.largest)
                      : fmt::format("a single sample does not fit in {}\n", memory);
}

json history_to_json(const std::vector<estimate::SimilarRun>& runs) {
  json list = json::array();
  for (const estimate::SimilarRun& run : runs) {
    json view = {{"job", run.job}, {"ended_s", run.ended_s}, {"run_s", run.run_s}};
    if (run.batch) {
      view["batch"] = *run.batch;
    }
    if (run.peak_bytes) {
      view["peak_bytes"] = *run.peak_bytes;
    }
    list.push_back(std::move(view));
  }
  return list;
}

json breakdown_to_json(const MemoryBreakdown& breakdown) {
  json out = json::object();
  for (const auto& [name, bytes] : parts_of(breakdown)) {
    out[name] = bytes;
  }
  return out;
}

}  // namespace

std::string spoken_setup(const TrainingSetup& setup) {
  std::string text = fmt::format("{}, batch {}, {}",
                                 setup.mode == RunMode::Train ? "training" : "inference",
                                 setup.batch,
                                 estimate::display_name(setup.precision));
  if (setup.sequence > 0) {
    text += fmt::format(", {} tokens", setup.sequence);
  }
  if (setup.mode == RunMode::Train) {
    text += fmt::format(", {}", estimate::display_name(setup.optimizer));
  }
  if (setup.checkpointing) {
    text += ", checkpointing";
  }
  if (setup.lora_rank > 0) {
    text += fmt::format(", LoRA rank {}", setup.lora_rank);
  }
  if (setup.accumulation > 1) {
    text += fmt::format(", {} batches per step", setup.accumulation);
  }
  if (setup.gpus > 1) {
    text += fmt::format(", {} GPUs, ZeRO stage {}", setup.gpus, setup.zero_stage);
  }
  return text;
}

std::string spoken_history(const HistoryAnswer& answer) {
  std::string text = answer.like.batch ? fmt::format("batch {}, ", *answer.like.batch) : "";
  const bool same = answer.past.from.front().batch == answer.like.batch;
  return text + (same ? "from earlier runs" : "from runs at other batch sizes");
}

json job_memory_to_json(const JobMemoryListing& listing) {
  const MemoryEstimate& estimate = listing.estimate;
  json out = {{"job", listing.what},
              {"run", listing.run},
              {"expected_bytes", estimate.expected},
              {"upper_bytes", estimate.upper},
              {"confidence", estimate.confidence},
              {"basis", estimate.basis},
              {"breakdown_bytes",
               listing.history.empty() ? breakdown_to_json(estimate.breakdown) : json(nullptr)},
              {"levers", json::array()},
              {"notes", estimate.notes}};
  if (!listing.history.empty()) {
    out["history"] = history_to_json(listing.history);
  }
  for (const MemoryLever& lever : listing.levers) {
    out["levers"].push_back({{"change", lever.change}, {"expected_bytes", lever.expected}});
  }
  if (listing.fits) {
    out["fits"] = {
        {"memory_bytes", listing.fits->memory},
        {"largest_batch", listing.fits->largest ? json(*listing.fits->largest) : json(nullptr)}};
  }
  return out;
}

void print_job_memory(const JobMemoryListing& listing, const Output& output) {
  const MemoryEstimate& estimate = listing.estimate;
  output.heading(fmt::format("{}: {}", listing.what, listing.run));
  TextTable table(output.colour());
  table.add_column("GPU memory", TextTable::Align::Left);
  table.add_column("[GiB]", TextTable::Align::Right);
  table.add_row({"expected peak", estimated_gib(estimate.expected)}, /*highlight=*/true);
  table.add_row({fmt::format("upper bound, {:g} %", 100.0 * estimate.confidence),
                 estimated_gib(estimate.upper)},
                /*highlight=*/true);
  if (listing.history.empty()) {
    for (const auto& [name, bytes] : parts_of(estimate.breakdown)) {
      std::string words = fmt::format("  {}", name);
      std::ranges::replace(words, '_', ' ');
      table.add_row({std::move(words), estimated_gib(bytes)});
    }
  }
  output.print(table.render());
  output.print(fmt::format("basis: {}\n", estimate.basis));
  if (listing.fits) {
    output.print(spoken_fit(*listing.fits));
  }
  std::string remarks;
  for (std::size_t index = 0; index < listing.levers.size() && index < kMostLevers; ++index) {
    remarks += fmt::format("{}{}: {} GiB\n",
                           index == 0 ? "to reduce it:\n  " : "  ",
                           listing.levers[index].change,
                           estimated_gib(listing.levers[index].expected));
  }
  for (std::size_t index = 0; index < estimate.notes.size(); ++index) {
    remarks += fmt::format("{}{}\n", index == 0 ? "notes:\n  " : "  ", estimate.notes[index]);
  }
  if (!remarks.empty()) {
    remarks.pop_back();
    output.remark(remarks);
  }
}

}  // namespace carpool::app
