#include "model/model_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files/file.hpp"
#include "base/text/json_integer.hpp"
#include "learn/model_envelope.hpp"
#include "model/registry.hpp"

namespace carpool::model {
namespace {

using nlohmann::json;

json card_to_json(const ModelCard& card) {
  json out = {{"data_hash", card.data_hash},
              {"dataset", card.dataset},
              {"throughput_unit", card.throughput_unit},
              {"features", card.features},
              {"workloads", card.workloads},
              {"training_rows", card.training_rows},
              {"seed", card.seed},
              {"holdout_mape", nullptr},
              {"date", card.date}};
  if (card.holdout_mape) {
    out["holdout_mape"] = *card.holdout_mape;
  }
  return out;
}

// Throws json::exception on a missing key or a wrong type; parse_model catches.
ModelCard card_from_json(const std::string& kind, const json& in) {
  ModelCard card{.kind = kind,
                 .data_hash = in.at("data_hash").get<std::string>(),
                 .dataset = in.at("dataset").get<std::string>(),
                 .throughput_unit = in.at("throughput_unit").get<std::string>(),
                 .features = in.at("features").get<std::vector<std::string>>(),
                 .workloads = in.at("workloads").get<std::vector<std::string>>(),
                 .training_rows = integer_from<std::size_t>(in.at("training_rows")),
                 .seed = integer_from<std::uint64_t>(in.at("seed")),
                 .holdout_mape = std::nullopt,
                 .date = in.at("date").get<std::string>()};
  if (const json& error = in.at("holdout_mape"); !error.is_null()) {
    card.holdout_mape = error.get<double>();
  }
  return card;
}

Result<std::unique_ptr<ThroughputModel>> from_envelope(const json& envelope,
                                                       std::string_view name) {
  const auto kind_name = envelope.at("kind").get<std::string>();
  const auto kind = find_model_kind(kind_name);
  if (!kind) {
    return fail(kind.error().code, fmt::format("{}: {}", name, kind.error().message));
  }
  return (*kind)
      ->load(card_from_json(kind_name, envelope.at("card")), envelope.at("params"))
      .map_error([&](Error error) {
        error.message = fmt::format("{}: {}", name, error.message);
        return error;
      });
}

}  // namespace

std::string serialize_model(const ThroughputModel& model) {
  return learn::seal_model(model.card().kind, card_to_json(model.card()), model.params());
}

Result<std::unique_ptr<ThroughputModel>> parse_model(std::string_view text, std::string_view name) {
  const auto envelope = learn::open_model(text, name, "carpool train");
  if (!envelope) {
    return tl::unexpected(envelope.error());
  }
  try {
    return from_envelope(*envelope, name);
  } catch (const json::exception& problem) {
    return fail(ErrorCode::Corrupt,
                fmt::format("{} is truncated or not a model file: {}", name, problem.what()));
  }
}

Result<void> save_model(const ThroughputModel& model, const std::filesystem::path& path) {
  return write_file(path, serialize_model(model));
}

Result<std::unique_ptr<ThroughputModel>> load_model(const std::filesystem::path& path) {
  const auto text = read_file(path);
  if (!text) {
    return tl::unexpected(text.error());
  }
  return parse_model(*text, path.string());
}

}  // namespace carpool::model
