#include "place/model_co_run.hpp"

#include <gtest/gtest.h>

#include "dataset/dataset.hpp"
#include "model/registry.hpp"

namespace carpool {
namespace {

const std::filesystem::path model_folder =
    std::filesystem::path(CARPOOL_SOURCE_DIR) / "data/kace-v100";

struct Trained {
  Dataset dataset{};
  std::shared_ptr<const ThroughputModel> model{};
};

Trained trained(std::string_view kind) {
  Trained made{.dataset = load_dataset(model_folder).value()};
  TrainingSet training;
  training.dataset = &made.dataset;
  training.rows = load_group_table(made.dataset, "pairs").value().rows;
  training.fit_rows = training.rows.size();
  made.model = find_model_kind(kind).value()->train(training).value();
  return made;
}

TEST(ModelCoRun, AsksTheModelForWorkloadsWithAProfileAndIsCarefulWithOthers) {
  const Trained share = trained("share");
  const auto made = ModelCoRun::create(share.model, share.dataset.profiles);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  const std::string first = share.dataset.profiles[0].workload;
  const std::string second = share.dataset.profiles[1].workload;
  const std::vector<CoRunMember> known = {{.workload = first}, {.workload = second}};
  const auto predicted = Predictor::create(*share.model, share.dataset.profiles)
                             .value()
                             .predict({{.profile = 0}, {.profile = 1}})
                             .value();
  const auto shares = (*made)->progress(known);
  ASSERT_EQ(shares.size(), 2);
  EXPECT_NEAR(shares[0], predicted.members[0].progress, 1e-9);
  EXPECT_NEAR(shares[1], predicted.members[1].progress, 1e-9);
  EXPECT_TRUE((*made)->knows(first));

  const std::vector<CoRunMember> unknown = {{.workload = "?"}, {.workload = "??"}};
  EXPECT_NEAR((*made)->progress(unknown)[0], 1.0 / 1.4, 1e-12);
  EXPECT_EQ((*made)->progress(std::span(known).first(1)), std::vector<double>{1.0});
}

TEST(ModelCoRun, RefusesAModelThatPredictsOnlySums) {
  const Trained sums = trained("kace-lr");
  const auto made = ModelCoRun::create(sums.model, sums.dataset.profiles);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace carpool
