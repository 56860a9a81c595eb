#include "estimate/bound/estimator_file.hpp"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files/file.hpp"
#include "learn/model_envelope.hpp"

namespace carpool::estimate {
namespace {

constexpr std::string_view kKind = "memory-estimator";
constexpr std::string_view kFitCommand = "carpool estimate --fit ROWS -o FILE";

}  // namespace

std::string serialize_estimator(const CarpoolEstimator& estimator, const EstimatorCard& card) {
  return learn::seal_model(kKind,
                           {{"data", card.data},
                            {"data_hash", card.data_hash},
                            {"rows", card.rows},
                            {"convolutions", card.convolutions},
                            {"convolutions_hash", card.convolutions_hash},
                            {"date", card.date}},
                           estimator.to_json());
}

Result<std::unique_ptr<CarpoolEstimator>> parse_estimator(std::string_view text,
                                                          std::string_view name) {
  const auto envelope = learn::open_model(text, name, kFitCommand);
  if (!envelope) {
    return tl::unexpected(envelope.error());
  }
  const std::string kind = envelope->at("kind").dump();
  if (kind != nlohmann::json(kKind).dump()) {
    return invalid_input(
        fmt::format("{} is a model of kind {}, not a memory estimator", name, kind));
  }
  auto estimator = CarpoolEstimator::from_json(envelope->at("params"));
  if (!estimator) {
    return fail(estimator.error().code, fmt::format("{}: {}", name, estimator.error().message));
  }
  return std::make_unique<CarpoolEstimator>(std::move(*estimator));
}

Result<std::unique_ptr<CarpoolEstimator>> load_estimator(const std::filesystem::path& path) {
  const auto text = read_file(path);
  if (!text) {
    return tl::unexpected(text.error());
  }
  return parse_estimator(*text, path.string());
}

}  // namespace carpool::estimate
