// Any bytes as a model file: a model or an estimator that can be used, or an error that names the
// file. The hash in the file stops nearly every change, so inputs are also read with a valid hash.
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "dataset/parse.hpp"
#include "estimate/bound/estimator_file.hpp"
#include "estimate/readers/config_json.hpp"
#include "estimate/readers/described.hpp"
#include "learn/model_envelope.hpp"
#include "model/model_file.hpp"
#include "targets.hpp"

namespace carpool::fuzz {
namespace {

constexpr std::string_view kFile = "a.model.json";

const std::vector<Profile>& known_profiles() {
  static const std::vector<Profile> profiles =
      dataset::parse_profiles(
          "workload,model,exclusive_thr,sm_pct,mem_pct\na,m,10,60,20\nb,m,20,30,40\n",
          "profiles.csv",
          dataset::DatasetSettings{})
          ->profiles;
  return profiles;
}

const DescribedJob& known_job() {
  static const DescribedJob job =
      estimate::describe_job(
          *estimate::parse_config_json(
              R"({"model_type":"gpt2","n_embd":64,"n_layer":2,"n_head":2,"vocab_size":100})",
              "file"),
          {},
          2)
          ->job;
  return job;
}

void use_model(const model::ThroughputModel& model) {
  const std::string once = model::serialize_model(model);
  const auto again = model::parse_model(once, kFile);
  require(again.has_value() && model::serialize_model(**again) == once);
  const auto forecaster = model.bind(known_profiles());
  if (!forecaster) {
    require(!forecaster.error().message.empty());
    return;
  }
  const std::vector<Group> groups = {{{.profile = 0}, {.profile = 1}}, {{.profile = 1}}};
  require((*forecaster)->forecast(groups, model::ForecastDetail::WithIntervals).size() == 2);
}

void feed_file(std::string_view text) {
  if (const auto model = model::parse_model(text, kFile)) {
    use_model(**model);
  } else {
    require(model.error().message.find(kFile) != std::string::npos);
  }
  if (const auto estimator = estimate::parse_estimator(text, kFile)) {
    const auto estimate = (*estimator)->estimate(known_job());
    require(estimate.has_value() || !estimate.error().message.empty());
  } else {
    require(estimator.error().message.find(kFile) != std::string::npos);
  }
}

}  // namespace

void feed_saved_model(std::string_view bytes) {
  feed_file(bytes);
  const auto object = nlohmann::json::parse(bytes, nullptr, /*allow_exceptions=*/false);
  if (object.is_object() && object.contains("kind") && object["kind"].is_string()) {
    feed_file(learn::seal_model(object["kind"].get<std::string>(),
                                object.value("card", nlohmann::json::object()),
                                object.value("params", nlohmann::json::object())));
  }
}

}  // namespace carpool::fuzz
