#include "model/limits/robust_fit.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "learn/levenberg_marquardt.hpp"
#include "learn/linalg.hpp"

namespace carpool::model {
namespace {

constexpr int kMaxIterations = 200;

double loss(double z, double tail) {
  return std::isinf(tail) ? z * z : (tail + 1.0) * std::log1p(z * z / tail);
}

// Half the slope of the loss in z, divided by z: the weight of a Gaussian term with the same slope.
double weight(double z, double tail) {
  return std::isinf(tail) ? 1.0 : (tail + 1.0) / (tail + z * z);
}

void merge_columns(SparseRow& row) {
  std::sort(row.begin(), row.end(), [](const SparseEntry& a, const SparseEntry& b) {
    return a.column < b.column;
  });
  std::size_t last = 0;
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (row[i].column == row[last].column) {
      row[last].slope += row[i].slope;
    } else {
      row[++last] = row[i];
    }
  }
  row.resize(std::min(row.size(), last + 1));
}

// The weighted quadratic model of the cost around a point; only the lower half of the matrix is
// filled.
struct NormalEquations {
  Eigen::MatrixXd matrix;
  Eigen::VectorXd gradient;
};

NormalEquations normal_equations(const RobustTerms& terms, const Eigen::VectorXd& x) {
  NormalEquations normal{.matrix = Eigen::MatrixXd::Zero(x.size(), x.size()),
                         .gradient = Eigen::VectorXd::Zero(x.size())};
  SparseRow row;
  for (std::size_t term = 0; term < terms.size(); ++term) {
    row.clear();
    const double z = terms.residual(term, x, &row);
    const double pull = weight(z, terms.tail(term));
    merge_columns(row);
    for (std::size_t a = 0; a < row.size(); ++a) {
      const double scaled = pull * row[a].slope;
      normal.gradient[row[a].column] += scaled * z;
      for (std::size_t b = a; b < row.size(); ++b) {
        normal.matrix(row[b].column, row[a].column) += scaled * row[b].slope;
      }
    }
  }
  return normal;
}

// Each unknown is damped in proportion to the largest curvature seen along it: the speed under a
// log parameter hardly bends where the parameter is low, and a step judged by the curvature there
// would overshoot.
class RobustProblem final : public learn::LeastSquaresProblem {
 public:
  RobustProblem(const RobustTerms& terms, Eigen::Index unknowns)
      : terms_(terms), scale_(Eigen::VectorXd::Zero(unknowns)) {}

  [[nodiscard]] double cost(const Eigen::VectorXd& x) override {
    double cost = 0.0;
    for (std::size_t term = 0; term < terms_.size(); ++term) {
      cost += loss(terms_.residual(term, x, nullptr), terms_.tail(term));
    }
    return cost;
  }

  void linearise(const Eigen::VectorXd& x) override {
    normal_ = normal_equations(terms_, x);
    scale_ = scale_.cwiseMax(normal_.matrix.diagonal());
  }

  [[nodiscard]] std::optional<Eigen::VectorXd> step(double damping) const override {
    Eigen::MatrixXd damped = normal_.matrix;
    damped.diagonal() += damping * scale_;
    const auto solved = learn::solve_positive_definite(damped, normal_.gradient);
    return solved ? std::optional<Eigen::VectorXd>(-solved->solution) : std::nullopt;
  }

  [[nodiscard]] double predicted_gain(const Eigen::VectorXd& step, double damping) const {
    return -normal_.gradient.dot(step) + damping * step.cwiseProduct(scale_).dot(step);
  }

 private:
  const RobustTerms& terms_;
  Eigen::VectorXd scale_;
  NormalEquations normal_;
};

}  // namespace

RobustFit minimise(const RobustTerms& terms, Eigen::VectorXd start, double tolerance) {
  RobustFit fit{.x = std::move(start), .cost = 0.0, .iterations = 0};
  RobustProblem problem(terms, fit.x.size());
  learn::NielsenRule rule(tolerance, [&](const Eigen::VectorXd& step, double damping) {
    return problem.predicted_gain(step, damping);
  });
  const auto found = learn::levenberg_marquardt(problem, rule, kMaxIterations, fit.x);
  fit.cost = found.cost;
  fit.iterations = found.iterations;
  return fit;
}

}  // namespace carpool::model
