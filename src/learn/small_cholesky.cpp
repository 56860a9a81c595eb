#include "learn/small_cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

// Compiles a function also for wider vectors; the variant is chosen when the program is loaded, and
// sums may differ in the last bits. Not under sanitizers, which start after that choice, and not
// with clang, which leaves out templates that only such a function uses. Functions that such a
// function calls must be inlined to be wide too.
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define CARPOOL_WIDE __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define CARPOOL_WIDE
#endif

namespace carpool::learn {
namespace {

using Eigen::Index;

// Columns of a panel: four products per store use the processor well.
constexpr Index kPanel = 4;

// target[i] += sum over k of factors[k] * columns[k][i], i in [from, to).
struct Panel {
  const double* columns[kPanel];
  double factors[kPanel];
};

[[gnu::always_inline]] inline void add_panel(const Panel& panel,
                                             double* __restrict target,
                                             Index from,
                                             Index to) {
  const double* __restrict first = panel.columns[0];
  const double* __restrict second = panel.columns[1];
  const double* __restrict third = panel.columns[2];
  const double* __restrict fourth = panel.columns[3];
  const double a = panel.factors[0];
  const double b = panel.factors[1];
  const double c = panel.factors[2];
  const double d = panel.factors[3];
  for (Index i = from; i < to; ++i) {
    target[i] += a * first[i] + b * second[i] + c * third[i] + d * fourth[i];
  }
}

[[gnu::always_inline]] inline void add_column(double factor,
                                              const double* __restrict column,
                                              double* __restrict target,
                                              Index from,
                                              Index to) {
  for (Index i = from; i < to; ++i) {
    target[i] += factor * column[i];
  }
}

// Factors columns [from, from + count), from which earlier panels are subtracted, down to row `to`.
[[gnu::always_inline]] inline void factor_panel(Eigen::MatrixXd& matrix,
                                                Index from,
                                                Index count,
                                                Index to) {
  for (Index column = from; column < from + count; ++column) {
    double* target = matrix.col(column).data();
    for (Index before = from; before < column; ++before) {
      add_column(-matrix(column, before), matrix.col(before).data(), target, column, to);
    }
    const double scale = 1.0 / std::sqrt(target[column]);
    for (Index i = column; i < to; ++i) {
      target[i] *= scale;
    }
  }
}

CARPOOL_WIDE void factorise(Eigen::MatrixXd& matrix, Index narrow, Index reach) {
  const Index size = matrix.rows();
  for (Index from = 0; from < size;) {
    const Index end = from < narrow ? narrow : size;
    const Index count = std::min(kPanel, end - from);
    const Index to = from < narrow ? reach : size;
    factor_panel(matrix, from, count, to);
    for (Index column = from + count; column < to; ++column) {
      double* target = matrix.col(column).data();
      if (count == kPanel) {
        Panel panel{};
        for (Index k = 0; k < kPanel; ++k) {
          panel.columns[k] = matrix.col(from + k).data();
          panel.factors[k] = -matrix(column, from + k);
        }
        add_panel(panel, target, column, to);
        continue;
      }
      for (Index k = from; k < from + count; ++k) {
        add_column(-matrix(column, k), matrix.col(k).data(), target, column, to);
      }
    }
    from += count;
  }
}

// The inverse of the factor, transposed: upper triangular, so that its columns are contiguous for
// the product below.
CARPOOL_WIDE Eigen::MatrixXd inverse_transposed(const Eigen::MatrixXd& factor) {
  const Index size = factor.rows();
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(size, size);
  // Row i of the inverse: (e_i - sum over k < i of factor(i, k) * row k) / factor(i, i).
  for (Index row = 0; row < size; ++row) {
    double* target = out.col(row).data();
    Index k = 0;
    for (; k + kPanel <= row; k += kPanel) {
      Panel panel{};
      for (Index j = 0; j < kPanel; ++j) {
        panel.columns[j] = out.col(k + j).data();
        panel.factors[j] = -factor(row, k + j);
      }
      add_panel(panel, target, 0, k + kPanel);
    }
    for (; k < row; ++k) {
      add_column(-factor(row, k), out.col(k).data(), target, 0, k + 1);
    }
    target[row] = 1.0;
    const double scale = 1.0 / factor(row, row);
    for (Index i = 0; i <= row; ++i) {
      target[i] *= scale;
    }
  }
  return out;
}

}  // namespace

SmallCholesky::SmallCholesky(Eigen::MatrixXd matrix) : factor_(std::move(matrix)) {
  factorise(factor_, 0, 0);
}

SmallCholesky::SmallCholesky(Eigen::MatrixXd matrix, Index narrow, Index reach)
    : factor_(std::move(matrix)) {
  factorise(factor_, narrow, reach);
}

CARPOOL_WIDE Eigen::VectorXd SmallCholesky::solve(Eigen::VectorXd target) const {
  const Index size = factor_.rows();
  for (Index k = 0; k < size; ++k) {
    target(k) /= factor_(k, k);
    add_column(-target(k), factor_.col(k).data(), target.data(), k + 1, size);
  }
  for (Index k = size - 1; k >= 0; --k) {
    const Index below = size - k - 1;
    target(k) = (target(k) - factor_.col(k).tail(below).dot(target.tail(below))) / factor_(k, k);
  }
  return target;
}

Eigen::VectorXd SmallCholesky::inverse_diagonal() const {
  return inverse_transposed(factor_).rowwise().squaredNorm();
}

double SmallCholesky::log_determinant() const {
  return 2.0 * factor_.diagonal().array().log().sum();
}

CARPOOL_WIDE Eigen::MatrixXd SmallCholesky::inverse() const {
  const Index size = factor_.rows();
  const Eigen::MatrixXd roots = inverse_transposed(factor_);
  // roots * roots', upper triangle: column k of `roots` ends at row k.
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(size, size);
  for (Index column = 0; column < size; ++column) {
    double* target = out.col(column).data();
    Index k = column;
    for (; k + kPanel <= size; k += kPanel) {
      Panel panel{};
      for (Index j = 0; j < kPanel; ++j) {
        panel.columns[j] = roots.col(k + j).data();
        panel.factors[j] = roots(column, k + j);
      }
      add_panel(panel, target, 0, column + 1);
    }
    for (; k < size; ++k) {
      add_column(roots(column, k), roots.col(k).data(), target, 0, column + 1);
    }
  }
  out.triangularView<Eigen::StrictlyLower>() = out.transpose();
  return out;
}

}  // namespace carpool::learn
