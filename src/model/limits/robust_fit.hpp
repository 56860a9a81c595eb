// Non-linear least squares that is robust against outliers, for problems whose terms each depend on
// a few of many unknowns.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include <Eigen/Core>

namespace carpool::model {

struct SparseEntry {
  Eigen::Index column = 0;
  double slope = 0.0;
};
using SparseRow = std::vector<SparseEntry>;  // slopes of a repeated column add up

inline constexpr double kGaussianTail = std::numeric_limits<double>::infinity();

// The sum over all terms, measurements and priors, that is minimised over x. A term has a residual
// z(x) in units of its standard deviation and a tail nu, the degrees of freedom of a Student-t
// distribution:
//   loss = (nu + 1) log(1 + z^2 / nu)     z^2 in the limit of the Gaussian
class RobustTerms {
 public:
  virtual ~RobustTerms() = default;

  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual double tail(std::size_t term) const = 0;
  // z; where `row`, which must be empty, is not null, it becomes dz/dx.
  [[nodiscard]] virtual double residual(std::size_t term,
                                        const Eigen::VectorXd& x,
                                        SparseRow* row) const = 0;
};

struct RobustFit {
  Eigen::VectorXd x;
  double cost = 0.0;
  int iterations = 0;
};

// Levenberg-Marquardt from `start` with iteratively re-weighted terms, until a step lowers the cost
// by less than `tolerance` of itself. Every unknown needs a prior.
[[nodiscard]] RobustFit minimise(const RobustTerms& terms, Eigen::VectorXd start, double tolerance);

}  // namespace carpool::model
