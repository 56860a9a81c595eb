#include "model/limits/robust_fit.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "learn/linalg.hpp"

namespace carpool::model {
namespace {

constexpr int kMaxIterations = 200;

// How much a step is held back. It goes down as far as the quadratic model proves right about the
// gain, and up ever faster while steps fail (Nielsen, "Damping parameter in Marquardt's method",
// 1999).
class Damping {
 public:
  [[nodiscard]] double value() const { return value_; }
  [[nodiscard]] bool exhausted() const { return value_ > kMost; }

  void accept(double gained_over_predicted) {
    const double surprise = 2.0 * gained_over_predicted - 1.0;
    value_ *= std::max(kFastestFall, 1.0 - surprise * surprise * surprise);
    value_ = std::max(value_, kLeast);
    rise_ = kFirstRise;
  }

  void refuse() {
    value_ *= rise_;
    rise_ *= 2.0;
  }

 private:
  static constexpr double kLeast = 1e-9;
  static constexpr double kMost = 1e8;
  static constexpr double kFastestFall = 0.1;
  static constexpr double kFirstRise = 2.0;

  double value_ = 1e-3;
  double rise_ = kFirstRise;
};

double loss(double z, double tail) {
  return std::isinf(tail) ? z * z : (tail + 1.0) * std::log1p(z * z / tail);
}

// Half the slope of the loss in z, divided by z: the weight that a Gaussian term would need to pull
// as hard as this one.
double weight(double z, double tail) {
  return std::isinf(tail) ? 1.0 : (tail + 1.0) / (tail + z * z);
}

double total_cost(const RobustTerms& terms, const Eigen::VectorXd& x) {
  double cost = 0.0;
  for (std::size_t term = 0; term < terms.size(); ++term) {
    cost += loss(terms.residual(term, x, nullptr), terms.tail(term));
  }
  return cost;
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

// The weighted quadratic model of the cost around a point; of the matrix the lower half alone.
struct NormalEquations {
  Eigen::MatrixXd matrix;
  Eigen::VectorXd gradient;
};

NormalEquations linearise(const RobustTerms& terms, const Eigen::VectorXd& x) {
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

// Tries one step from the point where `normal` was made. Each unknown is held back by the damping
// times the largest curvature seen along it: the speed under a log parameter hardly bends where the
// parameter is low, and a step judged by that alone would overshoot.
bool try_step(const RobustTerms& terms,
              const NormalEquations& normal,
              const Eigen::VectorXd& scale,
              Damping& damping,
              RobustFit& fit) {
  Eigen::MatrixXd damped = normal.matrix;
  damped.diagonal() += damping.value() * scale;
  const auto step = learn::solve_positive_definite(damped, normal.gradient);
  if (!step) {
    damping.refuse();
    return false;
  }
  Eigen::VectorXd candidate = fit.x - step->solution;
  const double cost = total_cost(terms, candidate);
  // Written so that a step too far, with a cost that is no number, is refused as well.
  if (!(cost <= fit.cost)) {
    damping.refuse();
    return false;
  }
  const double predicted = normal.gradient.dot(step->solution) +
                           damping.value() * step->solution.cwiseProduct(scale).dot(step->solution);
  damping.accept(predicted > 0.0 ? (fit.cost - cost) / predicted : 1.0);
  fit.x = std::move(candidate);
  fit.cost = cost;
  return true;
}

}  // namespace

RobustFit minimise(const RobustTerms& terms, Eigen::VectorXd start, double tolerance) {
  RobustFit fit{.x = std::move(start), .cost = 0.0, .iterations = 0};
  fit.cost = total_cost(terms, fit.x);
  Eigen::VectorXd scale = Eigen::VectorXd::Zero(fit.x.size());
  Damping damping;
  while (fit.iterations < kMaxIterations) {
    ++fit.iterations;
    const NormalEquations normal = linearise(terms, fit.x);
    scale = scale.cwiseMax(normal.matrix.diagonal());
    const double before = fit.cost;
    bool at_once = true;
    while (!try_step(terms, normal, scale, damping, fit)) {
      at_once = false;
      if (damping.exhausted()) {
        return fit;
      }
    }
    // A step that had to be held back gains little wherever it starts: no sign of the end.
    if (at_once && before - fit.cost <= tolerance * fit.cost) {
      break;
    }
  }
  return fit;
}

}  // namespace carpool::model
