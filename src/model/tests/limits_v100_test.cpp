// The fit on the V100 measurements, against a NumPy implementation of the same model.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "dataset/csv.hpp"
#include "dataset/dataset.hpp"
#include "model/limits/limit_layout.hpp"
#include "model/limits/limit_population.hpp"
#include "model/limits/limit_terms.hpp"
#include "model/limits/reference_campaign.hpp"
#include "model/limits/robust_fit.hpp"
#include "model/limits/thread_limit_model.hpp"
#include "model/registry.hpp"

namespace carpool::model {
namespace {

using nlohmann::json;

struct GivenShare {
  std::vector<ShareParameters> parameters;  // by profile; zeros where none are given
  std::vector<bool> given;
};

// expected/ps_params_181pairs.csv: 21 of the 31 workloads.
GivenShare given_share_parameters(const dataset::Dataset& dataset) {
  GivenShare share{.parameters = std::vector<ShareParameters>(dataset.profiles.size()),
                   .given = std::vector<bool>(dataset.profiles.size(), false)};
  const auto table = dataset::read_csv(dataset.folder / "expected" / "ps_params_181pairs.csv");
  EXPECT_TRUE(table.has_value());
  for (const dataset::CsvRow& row : table->rows) {
    const auto number = [&](const char* column) {
      return table->number(row, *table->require(column), "a number").value();
    };
    const std::size_t profile = dataset.find(row.fields[*table->require("workload")]).value();
    share.parameters[profile] = {.log_capacity = number("log_capacity"),
                                 .log_weight = number("weight_b"),
                                 .headroom = number("headroom_d")};
    share.given[profile] = true;
  }
  return share;
}

class LimitsOfV100 : public ::testing::Test {
 protected:
  void SetUp() override {
    dataset_ =
        dataset::load_dataset(std::filesystem::path(CARPOOL_SOURCE_DIR) / "data" / "kace-v100")
            .value();
    partitions_ = dataset::load_group_table(dataset_, "partitions").value().rows;
    const GivenShare given = given_share_parameters(dataset_);
    share_ = given.parameters;
    const auto runs = dataset::load_limited_runs(dataset_);
    for (const dataset::LimitedRun& run : *runs) {
      if (given.given[run.profile]) {
        solo_runs_.push_back(run);
      }
    }
    std::ifstream file(std::string(CARPOOL_SOURCE_DIR) + "/src/model/tests/limits_golden.json");
    golden_ = json::parse(file);
  }

  [[nodiscard]] Group group_of(const json& known) const {
    Group group;
    for (std::size_t i = 0; i < known["members"].size(); ++i) {
      group.push_back({.profile = dataset_.find(known["members"][i].get<std::string>()).value(),
                       .thread_limit = known["limits"][i].get<double>()});
    }
    return group;
  }

  dataset::Dataset dataset_;
  std::vector<dataset::GroupRow> partitions_;
  std::vector<dataset::LimitedRun> solo_runs_;
  std::vector<ShareParameters> share_;
  json golden_;
};

TEST_F(LimitsOfV100, FindTheCampaignThatTheShareParametersBelongTo) {
  EXPECT_EQ(reference_campaign(share_, partitions_),
            golden_["reference_campaign"].get<std::string>());
}

TEST_F(LimitsOfV100, ConvergeToTheReferenceFit) {
  const LimitTerms terms(share_, partitions_, solo_runs_, reference_campaign(share_, partitions_));
  const RobustFit fit = minimise(terms, terms.start(share_), 1e-9);
  EXPECT_NEAR(fit.cost, golden_["cost"].get<double>(), 0.01);
  ASSERT_EQ(golden_["workloads"].size(), 21U);
  for (const auto& [name, known] : golden_["workloads"].items()) {
    const std::size_t profile = dataset_.find(name).value();
    const LimitParameters found = terms.layout().parameters(profile, fit.x);
    EXPECT_NEAR(found.log_parallelism, known[0].get<double>(), 2e-3) << name;
    EXPECT_NEAR(found.log_sensitivity, known[1].get<double>(), 5e-3) << name;
    EXPECT_NEAR(found.log_pressure, known[2].get<double>(), 5e-3) << name;
    EXPECT_NEAR(found.sharing_gain, known[3].get<double>(), 2e-3) << name;
  }
}

TEST_F(LimitsOfV100, GiveTheFactorsOfTheReferenceFit) {
  const auto model = ThreadLimitModel::fit(share_, partitions_, solo_runs_);
  std::vector<LimitTraits> traits;
  traits.reserve(share_.size());
  for (std::size_t i = 0; i < share_.size(); ++i) {
    traits.push_back(limit_traits(share_[i], model.parameters(i)));
  }
  ASSERT_EQ(golden_["cases"].size(), 12U);
  for (const json& known : golden_["cases"]) {
    const Group group = group_of(known);
    ASSERT_EQ(known["log_factors"].size(), group.size());
    std::vector<double> factors(group.size());
    log_limit_factors(traits, group, factors);
    for (std::size_t i = 0; i < group.size(); ++i) {
      // The product stops early: within one percent, see kTolerance.
      EXPECT_NEAR(factors[i], known["log_factors"][i].get<double>(), 0.01) << known.dump();
    }
  }
}

TEST_F(LimitsOfV100, SurviveBeingStored) {
  const auto model = ThreadLimitModel::fit(share_, partitions_, solo_runs_);
  const json stored = json::parse(model.to_json().dump());
  const auto loaded = ThreadLimitModel::from_json(stored, share_.size());
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  EXPECT_EQ(loaded->to_json(), model.to_json());
  EXPECT_EQ(loaded->expect(share_[0]).log_parallelism, model.expect(share_[0]).log_parallelism);
}

TEST_F(LimitsOfV100, OfShareAreTheShippedPopulation) {
  TrainingSet training;
  training.dataset = &dataset_;
  training.rows = dataset::load_group_table(dataset_, "pairs").value().rows;
  training.fit_rows = training.rows.size();
  training.partitions = partitions_;
  training.limited_runs = dataset::load_limited_runs(dataset_).value();
  const auto share = find_model_kind("share").value()->train(training);
  ASSERT_TRUE(share.has_value()) << share.error().message;
  const json stored = (*share)->params().at("limits");
  const ShareSlopes centre{.weight = stored["centre"][0], .headroom = stored["centre"][1]};
  EXPECT_NEAR(shipped_population().centre.weight, centre.weight, 0.05);
  EXPECT_NEAR(shipped_population().centre.headroom, centre.headroom, 0.05);
  Eigen::VectorXd shipped(PopulationAt::kCount);
  LimitLayout::store(shipped_population().recentred(centre), shipped);
  for (Eigen::Index i = 0; i < shipped.size(); ++i) {
    EXPECT_NEAR(shipped[i], stored["population"][static_cast<std::size_t>(i)].get<double>(), 0.1)
        << "number " << i;
  }
}

TEST(StoredLimits, AreRefusedWhenBroken) {
  const std::vector<ShareParameters> share(2);
  const json good = ThreadLimitModel::fit(share, {}, {}).to_json();
  ASSERT_TRUE(ThreadLimitModel::from_json(good, 2).has_value());
  const auto code = [](const json& stored, std::size_t workloads) {
    const auto loaded = ThreadLimitModel::from_json(stored, workloads);
    return loaded ? ErrorCode::Internal : loaded.error().code;
  };
  EXPECT_EQ(code(good, 3), ErrorCode::Corrupt);
  EXPECT_EQ(code(json::array(), 2), ErrorCode::Corrupt);
  ASSERT_EQ(good.size(), 6U);
  for (const auto& [key, value] : good.items()) {
    json missing = good;
    missing.erase(key);
    EXPECT_EQ(code(missing, 2), ErrorCode::Corrupt) << key;
    json infinite = good;
    infinite[key][0] = std::numeric_limits<double>::infinity();
    EXPECT_EQ(code(infinite, 2), ErrorCode::Corrupt) << key;
    json longer = good;
    longer[key].push_back(1.0);
    EXPECT_EQ(code(longer, 2), ErrorCode::Corrupt) << key;
    json text = good;
    text[key][0] = "1.0";
    EXPECT_EQ(code(text, 2), ErrorCode::Corrupt) << key;
  }
}

}  // namespace
}  // namespace carpool::model
