#include "estimate/judge/rows.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/text/memory_size.hpp"
#include "estimate/judge/row_splits.hpp"

namespace carpool::estimate {
namespace {

const std::string mlp_row =
    R"({"cfg": {"fam": "mlp", "inp": 10, "widths": [20, 30], "classes": 5, "batch": 4, "act": "ReLU",)"
    R"( "bn": 1, "drop": 0, "mode": "train", "prec": "fp32", "opt": "adamw", "tf32": 1, "accum": 2},)"
    R"( "peak": {"alloc": 70.5, "reserved": 88.0}, "saved_mib": 1.5, "ok": 1})";
const std::string named_row =
    R"({"cfg": {"fam": "timm", "name": "net", "res": 32, "batch": 2, "mode": "infer", "prec": "amp16",)"
    R"( "opt": "sgd", "cl": 0, "bench": 1}, "static": {"params": 27, "buffers": 8}, "ok": 0, "oom": 1,)"
    R"( "peak": {"reserved": 44000}, "layers": [["Conv2d", [2, 4, 32, 32], "float16", 27]]})";

TEST(Rows, ARowContainsTheJobAndItsMemory) {
  const auto jobs = parse_measured_jobs(mlp_row, "rows", RowView::Trace, {});
  ASSERT_TRUE(jobs) << jobs.error().message;
  const MeasuredJob& row = jobs->rows.at(0);
  const auto& shape = std::get<MlpShape>(row.job.model.shape);
  EXPECT_EQ(shape.widths, (std::vector<std::int64_t>{20, 30}));
  EXPECT_TRUE(shape.batch_norm);
  EXPECT_EQ(row.job.setup.accumulation, 2);
  EXPECT_EQ(row.job.setup.optimizer, Optimizer::Adam);
  EXPECT_EQ(row.peak, 88 * kMiB);
  EXPECT_EQ(row.truth(), row.peak + *row.job.machine.context_bytes);
  EXPECT_EQ(row.job.model.traced_saved_bytes, 3 * kMiB / 2);
}

TEST(Rows, AViewHidesTheRestOfTheRow) {
  const auto layers = parse_measured_jobs(mlp_row, "rows", RowView::Layers, {});
  EXPECT_FALSE(layers->rows.at(0).job.model.traced_saved_bytes);
  const std::string both = mlp_row + "\n" + named_row + "\n";
  const auto config = parse_measured_jobs(both, "rows", RowView::Config, {});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->rows.size(), 1U);
  EXPECT_EQ(config->without_model, 1U);
}

TEST(Rows, ACatalogueHasNamedModelsAtAnyResolution) {
  const auto catalogue = parse_catalogue(named_row, "names");
  ASSERT_TRUE(catalogue);
  std::string larger = named_row;
  larger.replace(larger.find("\"res\": 32"), 9, "\"res\": 64");
  const auto jobs = parse_measured_jobs(larger, "rows", RowView::Config, *catalogue);
  ASSERT_TRUE(jobs);
  const auto& list = std::get<LayerList>(jobs->rows.at(0).job.model.shape);
  EXPECT_EQ(list.layers.at(0).shape, (std::vector<std::int64_t>{2, 4, 64, 64}));
  EXPECT_FALSE(jobs->rows.at(0).finished);
}

TEST(Rows, ErrorsNameTheLine) {
  const auto expect = [](const std::string& text, const std::string& part) {
    const auto jobs = parse_measured_jobs(mlp_row + "\n" + text, "rows.jsonl", RowView::Layers, {});
    ASSERT_FALSE(jobs) << text;
    EXPECT_EQ(jobs.error().code, ErrorCode::InvalidInput);
    EXPECT_TRUE(jobs.error().message.starts_with("rows.jsonl:2:")) << jobs.error().message;
    EXPECT_NE(jobs.error().message.find(part), std::string::npos) << jobs.error().message;
  };
  expect("{", "row");
  expect("[]", "row");
  expect(R"({"cfg": {"fam": "mlp"}})", "mode");
  std::string wrong = mlp_row;
  wrong.replace(wrong.find("adamw"), 5, "adamv");
  expect(wrong, "did you mean");
  std::string negative = mlp_row;
  negative.replace(negative.find("88.0"), 4, "-8.0");
  expect(negative, "MiB");
  EXPECT_FALSE(parse_measured_jobs("\n\n", "rows", RowView::Layers, {}));
}

TEST(RowSplits, RowsOfOneNameStayTogetherAndAreTestedOncePerShuffle) {
  std::vector<MeasuredJob> rows(60);
  for (std::size_t index = 0; index < rows.size(); ++index) {
    rows[index].group = std::to_string(index / 3);
  }
  std::vector<int> tested(rows.size(), 0);
  const auto folds = (*find_row_split("names"))->split(rows);
  ASSERT_EQ(folds.size(), 30U);  // ten folds, three shuffles
  for (const RowFold& fold : folds) {
    EXPECT_EQ(fold.train.size() + fold.test.size(), rows.size());
    std::set<std::string> trained;
    for (const std::size_t index : fold.train) {
      trained.insert(rows[index].group);
    }
    for (const std::size_t index : fold.test) {
      EXPECT_FALSE(trained.contains(rows[index].group));
      ++tested[index];
    }
  }
  for (const int times_tested : tested) {
    EXPECT_EQ(times_tested, 3);
  }
}

TEST(RowSplits, ThePublishedSplitTestsOn306Of3000) {
  const std::vector<MeasuredJob> rows(3000);
  const auto folds = (*find_row_split("published"))->split(rows);
  ASSERT_EQ(folds.size(), 1U);
  EXPECT_EQ(folds[0].train.size(), 2100U);
  EXPECT_EQ(folds[0].calibration.size(), 594U);
  EXPECT_EQ(folds[0].test.size(), 306U);
}

TEST(RowSplits, TheErrorForAnUnknownNameListsTheKnown) {
  EXPECT_NE(find_row_split("nams").error().message.find("names"), std::string::npos);
}

}  // namespace
}  // namespace carpool::estimate
