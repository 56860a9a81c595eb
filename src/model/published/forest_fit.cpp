#include "model/published/forest_fit.hpp"

#include <cstddef>

#include "learn/forest_search.hpp"

namespace carpool::model {

namespace {

constexpr std::uint32_t kPublishedSeed = 42;
constexpr std::size_t kDraws = 100;
constexpr std::size_t kForestFolds = 5;

}  // namespace

learn::Fit published_forest_fit(std::uint64_t seed) {
  const auto state = static_cast<std::uint32_t>(kPublishedSeed + seed);
  return [state](const Eigen::MatrixXd& rows, const Eigen::VectorXd& targets) {
    const auto candidates = learn::draw_settings(learn::published_forest_space(), kDraws, state);
    const learn::ForestSearch search =
        learn::search_forest(rows, targets, candidates, kForestFolds, state);
    return learn::fit_forest(rows, targets, candidates[search.best], state);
  };
}

}  // namespace carpool::model
