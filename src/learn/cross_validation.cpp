#include "learn/cross_validation.hpp"

#include <algorithm>
#include <utility>

namespace carpool::learn {

std::vector<FoldData> fold_data(const Eigen::MatrixXd& rows,
                                const Eigen::VectorXd& targets,
                                std::size_t folds) {
  const Eigen::Index count = rows.rows();
  const Eigen::Index parts = std::min(static_cast<Eigen::Index>(folds), count);
  std::vector<FoldData> result;
  if (parts < 2) {
    return result;
  }
  Eigen::Index begin = 0;
  for (Eigen::Index part = 0; part < parts; ++part) {
    const Eigen::Index size = count / parts + (part < count % parts ? 1 : 0);
    const Eigen::Index after = count - begin - size;
    FoldData fold{.train_rows = Eigen::MatrixXd(count - size, rows.cols()),
                  .train_targets = Eigen::VectorXd(count - size),
                  .test_rows = rows.middleRows(begin, size),
                  .test_targets = targets.segment(begin, size)};
    fold.train_rows.topRows(begin) = rows.topRows(begin);
    fold.train_rows.bottomRows(after) = rows.bottomRows(after);
    fold.train_targets.head(begin) = targets.head(begin);
    fold.train_targets.tail(after) = targets.tail(after);
    result.push_back(std::move(fold));
    begin += size;
  }
  return result;
}

Result<double> cross_validated_mse(const std::vector<FoldData>& folds, const Fit& fit) {
  double squares = 0.0;
  Eigen::Index count = 0;
  for (const FoldData& fold : folds) {
    const auto fitted = fit(fold.train_rows, fold.train_targets);
    if (!fitted) {
      return tl::unexpected(fitted.error());
    }
    squares += ((*fitted)->predict(fold.test_rows) - fold.test_targets).squaredNorm();
    count += fold.test_targets.size();
  }
  return squares / static_cast<double>(std::max<Eigen::Index>(count, 1));
}

}  // namespace carpool::learn
