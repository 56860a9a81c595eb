#include "knowledge/model_interference.hpp"

#include <gtest/gtest.h>

#include "dataset/dataset.hpp"
#include "model/registry.hpp"

namespace carpool::knowledge {
namespace {

const std::filesystem::path model_folder =
    std::filesystem::path(CARPOOL_SOURCE_DIR) / "data/kace-v100";

struct Trained {
  dataset::Dataset dataset{};
  std::shared_ptr<const model::ThroughputModel> model{};
};

Trained trained(std::string_view kind) {
  Trained made{.dataset = dataset::load_dataset(model_folder).value()};
  model::TrainingSet training;
  training.dataset = &made.dataset;
  training.rows = dataset::load_group_table(made.dataset, "pairs").value().rows;
  training.fit_rows = training.rows.size();
  made.model = model::find_model_kind(kind).value()->train(training).value();
  return made;
}

TEST(ModelInterference, UsesTheModelForWorkloadsWithAProfileAndActivityForOthers) {
  const Trained share = trained("share");
  const auto made = ModelInterference::create(share.model, share.dataset.profiles);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  const std::string first = share.dataset.profiles[0].workload;
  const std::string second = share.dataset.profiles[1].workload;
  const std::vector<InterferenceMember> known = {{.workload = first}, {.workload = second}};
  const auto predicted = predict::Predictor::create(*share.model, share.dataset.profiles)
                             .value()
                             .predict({{.profile = 0}, {.profile = 1}})
                             .value();
  const auto shares = (*made)->progress(known);
  ASSERT_EQ(shares.size(), 2);
  EXPECT_NEAR(shares[0], predicted.members[0].progress, 1e-9);
  EXPECT_NEAR(shares[1], predicted.members[1].progress, 1e-9);
  EXPECT_TRUE((*made)->knows(first));

  const std::vector<InterferenceMember> unknown = {{.workload = "?"}, {.workload = "??"}};
  EXPECT_NEAR((*made)->progress(unknown)[0], 1.0 / 1.4, 1e-12);
  EXPECT_EQ((*made)->progress(std::span(known).first(1)), std::vector<double>{1.0});
}

TEST(ModelInterference, RefusesAModelThatPredictsOnlySums) {
  const Trained sums = trained("kace-lr");
  const auto made = ModelInterference::create(sums.model, sums.dataset.profiles);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace carpool::knowledge
