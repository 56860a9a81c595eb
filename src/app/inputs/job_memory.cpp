#include "app/inputs/job_memory.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "app/inputs/sources.hpp"
#include "base/files/packed_file.hpp"
#include "estimate/bound/estimator_file.hpp"
#include "estimate/readers/command_flags.hpp"

namespace carpool::app {
namespace {

// The lines of JSON that have this text.
std::string lines_with(std::string_view lines, std::string_view text) {
  std::string found;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    if (line.find(text) != std::string_view::npos) {
      found.append(line).push_back('\n');
    }
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
  }
  return found;
}

// Layers of the image models that were measured, by name: of all, or of `only` this one, which
// takes a tenth of the time.
Result<estimate::LayerCatalogue> bundled_catalogue(std::string_view only) {
  estimate::LayerCatalogue all;
  for (const std::string_view name : {"memory-collected", "memory-h200"}) {
    const auto folder = bundled_folder(name);
    if (!folder) {
      return tl::unexpected(folder.error());
    }
    const auto file = *folder / "rows.jsonl.gz";
    const auto text = read_packed_file(file);
    if (!text) {
      return tl::unexpected(text.error());
    }
    auto catalogue = estimate::parse_catalogue(lines_with(*text, only), file.string());
    if (!catalogue) {
      return catalogue;
    }
    all.merge(*catalogue);  // keeps what is there
  }
  return all;
}

}  // namespace

Result<estimate::CarpoolEstimator> open_estimator(const std::optional<std::string>& file,
                                                  double confidence) {
  std::filesystem::path path;
  if (file) {
    path = *file;
  } else {
    const auto folder = bundled_folder("memory-estimator");
    if (!folder) {
      return tl::unexpected(folder.error());
    }
    path = *folder / "h200.model.json";
  }
  const auto loaded = estimate::load_estimator(path);
  if (!loaded) {
    return tl::unexpected(loaded.error());
  }
  estimate::CarpoolFit fit = (*loaded)->fit();
  fit.confidence = confidence;
  return estimate::CarpoolEstimator(std::move(fit));
}

Result<estimate::RequestedJob> ask_with_catalogue(const estimate::EstimateRequest& question) {
  return estimate::resolve_request(question, [] { return bundled_catalogue(""); });
}

Result<estimate::RequestedJob> ask_where_sure(const estimate::EstimateRequest& question) {
  const estimate::CommandFacts facts = estimate::read_command(question.command);
  std::error_code ignored;
  if (!facts.model || (!facts.settings.batch && !facts.hugging_face_trainer) ||
      std::filesystem::exists(*facts.model, ignored)) {
    return fail(ErrorCode::Unsupported, "the command does not name a known model and a batch size");
  }
  const std::string& model = *facts.model;
  const std::string name = model.substr(model.rfind('/') + 1);
  return estimate::resolve_request(question, [&] { return bundled_catalogue(name); });
}

Result<MemoryEstimate> estimate_asked(const estimate::CarpoolEstimator& estimator,
                                      const estimate::RequestedJob& asked) {
  return estimate::WiderEstimator(estimator, asked.widening)
      .estimate(asked.job)
      .map([&](MemoryEstimate estimate) {
        if (!asked.basis.empty()) {
          estimate.basis = asked.basis;
        }
        estimate.notes.insert(estimate.notes.begin(), asked.notes.begin(), asked.notes.end());
        return estimate;
      });
}

}  // namespace carpool::app
