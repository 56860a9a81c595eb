#include "learn/boosting.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xgboost/c_api.h>

#include "learn/tree_ensemble.hpp"

namespace carpool::learn {

namespace {

tl::unexpected<Error> refused(std::string_view what) {
  return fail(ErrorCode::Internal, fmt::format("XGBoost: {}: {}", what, XGBGetLastError()));
}

struct FreeMatrix {
  void operator()(void* handle) const { XGDMatrixFree(handle); }
};
struct FreeBooster {
  void operator()(void* handle) const { XGBoosterFree(handle); }
};
using Matrix = std::unique_ptr<void, FreeMatrix>;
using Booster = std::unique_ptr<void, FreeBooster>;

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Result<Matrix> make_matrix(const Eigen::MatrixXd& rows, const Eigen::VectorXf& labels) {
  const RowMajor values = rows.cast<float>();
  DMatrixHandle handle = nullptr;
  if (XGDMatrixCreateFromMat(values.data(),
                             static_cast<bst_ulong>(values.rows()),
                             static_cast<bst_ulong>(values.cols()),
                             std::numeric_limits<float>::quiet_NaN(),
                             &handle) != 0) {
    return refused("cannot read the rows");
  }
  Matrix matrix(handle);
  if (XGDMatrixSetFloatInfo(
          handle, "label", labels.data(), static_cast<bst_ulong>(labels.size())) != 0) {
    return refused("cannot read the targets");
  }
  return matrix;
}

Result<Booster> train(const Matrix& matrix, const BoostingSettings& settings, std::uint32_t seed) {
  const std::vector<std::pair<std::string, std::string>> parameters = {
      {"objective", "reg:squarederror"},
      {"base_score", "0"},  // the mean is subtracted from the targets before
      {"nthread", "1"},
      {"verbosity", "0"},
      {"tree_method", "exact"},
      {"seed", std::to_string(seed)},
      {"max_depth", std::to_string(settings.max_depth)},
      {"eta", fmt::format("{}", settings.learning_rate)},
      {"subsample", fmt::format("{}", settings.row_share)},
      {"colsample_bytree", fmt::format("{}", settings.feature_share)}};
  DMatrixHandle data = matrix.get();
  BoosterHandle handle = nullptr;
  if (XGBoosterCreate(&data, 1, &handle) != 0) {
    return refused("cannot start");
  }
  Booster booster(handle);
  for (const auto& [name, value] : parameters) {
    if (XGBoosterSetParam(handle, name.c_str(), value.c_str()) != 0) {
      return refused(name);
    }
  }
  for (std::size_t round = 0; round < settings.rounds; ++round) {
    if (XGBoosterUpdateOneIter(handle, static_cast<int>(round), data) != 0) {
      return refused("cannot grow a tree");
    }
  }
  return booster;
}

// A tree in XGBoost's JSON: arrays by node number; the left child of a leaf is -1, and its value is
// in split_conditions.
struct StoredTree {
  std::vector<std::int32_t> left;
  std::vector<std::int32_t> right;
  std::vector<std::int32_t> feature;
  std::vector<float> condition;
};

Tree in_preorder(const StoredTree& stored) {
  struct Pending {
    std::size_t node;
    std::size_t parent;
    bool is_right;
  };
  Tree tree;
  std::vector<Pending> pending = {{0, 0, false}};
  while (!pending.empty()) {
    const auto [node, parent, is_right] = pending.back();
    pending.pop_back();
    const std::size_t index = tree.size();
    if (is_right) {
      tree[parent].skip = static_cast<std::int32_t>(index - parent);
    }
    const float condition = stored.condition[node];
    if (stored.left[node] < 0) {
      tree.push_back({.value = condition, .feature = -1, .skip = 0});
      continue;
    }
    // XGBoost sends inputs below the condition to the left, Tree those up to the threshold.
    const float threshold = std::nextafter(condition, -std::numeric_limits<float>::infinity());
    tree.push_back({.value = threshold, .feature = stored.feature[node], .skip = 0});
    pending.push_back({static_cast<std::size_t>(stored.right[node]), index, true});
    pending.push_back({static_cast<std::size_t>(stored.left[node]), index, false});
  }
  return tree;
}

Result<std::vector<Tree>> take_trees(const Booster& booster) {
  bst_ulong length = 0;
  const char* text = nullptr;
  if (XGBoosterSaveModelToBuffer(booster.get(), R"({"format": "json"})", &length, &text) != 0) {
    return refused("cannot export the trees");
  }
  std::vector<Tree> trees;
  try {
    const nlohmann::json model = nlohmann::json::parse(text, text + length);
    for (const nlohmann::json& tree :
         model.at("learner").at("gradient_booster").at("model").at("trees")) {
      trees.push_back(in_preorder({.left = tree.at("left_children"),
                                   .right = tree.at("right_children"),
                                   .feature = tree.at("split_indices"),
                                   .condition = tree.at("split_conditions")}));
    }
  } catch (const nlohmann::json::exception& error) {
    return fail(
        ErrorCode::Internal,
        fmt::format("XGBoost: the trees do not have the format of version 1.7: {}", error.what()));
  }
  return trees;
}

}  // namespace

Result<std::unique_ptr<Regressor>> fit_boosted_trees(const Eigen::MatrixXd& rows,
                                                     const Eigen::VectorXd& targets,
                                                     const BoostingSettings& settings,
                                                     std::uint32_t seed) {
  const double mean = targets.mean();
  const auto matrix = make_matrix(rows, (targets.array() - mean).cast<float>());
  if (!matrix) {
    return tl::unexpected(matrix.error());
  }
  const auto booster = train(*matrix, settings, seed);
  if (!booster) {
    return tl::unexpected(booster.error());
  }
  const auto trees = take_trees(*booster);
  if (!trees) {
    return tl::unexpected(trees.error());
  }
  auto ensemble = std::make_unique<TreeEnsemble>(rows.cols(), mean, /*divisor=*/1.0);
  for (const Tree& tree : *trees) {
    ensemble->add(tree);
  }
  return ensemble;
}

}  // namespace carpool::learn
