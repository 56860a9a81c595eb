#include "model/share/latent_fit.hpp"

#include <cmath>
#include <optional>
#include <utility>

#include "learn/levenberg_marquardt.hpp"
#include "learn/small_cholesky.hpp"

namespace carpool::model {
namespace {

// Relative decrease of the cost at which the fit stops, as published with the model.
constexpr double kConverged = 1e-6;

Eigen::Index at(std::size_t block, std::size_t workload, const LatentProblem& problem) {
  return static_cast<Eigen::Index>(block * problem.workloads + workload);
}

// The problem at one point: residuals and what they were computed from.
struct Evaluated {
  std::vector<double> residual;  // measured - predicted, log units
  std::vector<double> terms;     // exp(b_j - b_i - d_i) of the others, run after run
  std::vector<double> crowding;  // of each run, 1 + its terms
};

void evaluate(const LatentProblem& problem, const Eigen::VectorXd& latents, Evaluated& out) {
  out.residual.clear();
  out.terms.clear();
  out.crowding.clear();
  for (const MemberRun& run : problem.runs) {
    const double resistance = latents(at(1, run.own, problem)) + latents(at(2, run.own, problem));
    double crowd = 1.0;
    for (const std::size_t other : run.others) {
      out.terms.push_back(std::exp(latents(at(1, other, problem)) - resistance));
      crowd += out.terms.back();
    }
    out.crowding.push_back(crowd);
    const auto own = static_cast<Eigen::Index>(run.own);
    out.residual.push_back(run.log_throughput - problem.level(own) - latents(own) +
                           std::log(crowd));
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(problem.log_solo.size()); ++i) {
    const auto own = static_cast<Eigen::Index>(i);
    out.residual.push_back(problem.log_solo(own) - problem.level(own) - latents(own) +
                           latents(at(3, i, problem)));
  }
}

// d log T_i / dc_i = 1, / db_i = / dd_i = sum g, / db_j = -g_j with g_j = term_j / crowding.
void add_run_slopes(const LatentProblem& problem,
                    const MemberRun& run,
                    std::span<const double> terms,
                    double crowd,
                    std::vector<Slope>& slopes) {
  slopes.push_back({at(0, run.own, problem), 1.0});
  double pressed = 0.0;
  double own_weight = 0.0;  // a copy of itself presses with the weight that resists
  for (std::size_t k = 0; k < run.others.size(); ++k) {
    const double share = terms[k] / crowd;
    pressed += share;
    if (run.others[k] == run.own) {
      own_weight -= share;
    } else {
      slopes.push_back({at(1, run.others[k], problem), -share});
    }
  }
  slopes.push_back({at(1, run.own, problem), pressed + own_weight});
  slopes.push_back({at(2, run.own, problem), pressed});
}

void linearise_at(const LatentProblem& problem, const Evaluated& here, Linearised& out) {
  out.residual = here.residual;
  out.weight.clear();
  out.all_slopes.clear();
  out.ends.clear();
  const std::size_t runs = problem.runs.size();
  std::span<const double> terms = here.terms;
  for (std::size_t k = 0; k < runs; ++k) {
    const MemberRun& run = problem.runs[k];
    out.weight.push_back(residual_weight(problem, here.residual[k], problem.noise));
    add_run_slopes(problem, run, terms, here.crowding[k], out.all_slopes);
    out.ends.push_back(out.all_slopes.size());
    terms = terms.subspan(run.others.size());
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(problem.log_solo.size()); ++i) {
    out.weight.push_back(residual_weight(problem, here.residual[runs + i], problem.noise_solo));
    out.all_slopes.push_back({at(0, i, problem), 1.0});
    out.all_slopes.push_back({at(3, i, problem), -1.0});
    out.ends.push_back(out.all_slopes.size());
  }
}

// The damped step. The gap couples only with the capacity, in the prior and in the observations:
// ordered first, it halves the arithmetic.
Eigen::VectorXd damped_step(const LatentProblem& problem,
                            const Eigen::MatrixXd& normal,
                            double damping,
                            const Eigen::VectorXd& descent) {
  const auto gap = problem.blocks() == 4 ? static_cast<Eigen::Index>(problem.workloads) : 0;
  const Eigen::Index others = normal.rows() - gap;
  Eigen::MatrixXd damped(normal.rows(), normal.cols());
  damped.bottomRightCorner(others, others) = normal.topLeftCorner(others, others);
  damped.topLeftCorner(gap, gap) = normal.bottomRightCorner(gap, gap);
  damped.block(gap, 0, gap, gap) = normal.block(others, 0, gap, gap).transpose();
  damped.bottomLeftCorner(others - gap, gap).setZero();
  damped.diagonal() *= 1.0 + damping;
  Eigen::VectorXd target(normal.rows());
  target << descent.tail(gap), descent.head(others);
  const Eigen::VectorXd solved =
      learn::SmallCholesky(std::move(damped), gap, 2 * gap).solve(target);
  Eigen::VectorXd step(normal.rows());
  step << solved.tail(others), solved.head(gap);
  return step;
}

class LatentCost final : public learn::LeastSquaresProblem {
 public:
  LatentCost(const LatentProblem& problem, const Eigen::MatrixXd& precision)
      : problem_(problem), precision_(precision) {}

  [[nodiscard]] double cost(const Eigen::VectorXd& latents) override {
    evaluate(problem_, latents, last_);
    const std::span<const double> residuals = last_.residual;
    const std::size_t runs = problem_.runs.size();
    return 0.5 * latents.dot(precision_.selfadjointView<Eigen::Lower>() * latents) +
           residual_loss(problem_, residuals.first(runs), problem_.noise) +
           residual_loss(problem_, residuals.subspan(runs), problem_.noise_solo);
  }

  void linearise(const Eigen::VectorXd& latents) override {
    linearise_at(problem_, last_, here_);
    normal_ = curvature(here_, precision_);
    descent_ = -(precision_.selfadjointView<Eigen::Lower>() * latents);
    for (std::size_t k = 0; k < here_.weight.size(); ++k) {
      for (const Slope& slope : here_.slopes(k)) {
        descent_(slope.unknown) += here_.weight[k] * here_.residual[k] * slope.value;
      }
    }
  }

  [[nodiscard]] std::optional<Eigen::VectorXd> step(double damping) const override {
    return damped_step(problem_, normal_, damping, descent_);
  }

 private:
  const LatentProblem& problem_;
  const Eigen::MatrixXd& precision_;
  Evaluated last_;  // at the point that cost() was last called with
  Linearised here_;
  Eigen::MatrixXd normal_;
  Eigen::VectorXd descent_;
};

}  // namespace

// For Student's t it takes the logarithm of products, since logarithms dominate the time.
double residual_loss(const LatentProblem& problem,
                     std::span<const double> residuals,
                     double scale) {
  const double nu = problem.degrees_of_freedom;
  const double variance = scale * scale;
  if (std::isinf(nu)) {
    double squares = 0.0;
    for (const double residual : residuals) {
      squares += residual * residual;
    }
    return 0.5 * squares / variance;
  }
  constexpr double kNearOverflow = 1e150;
  double logarithm = 0.0;
  double product = 1.0;
  for (const double residual : residuals) {
    const double factor = 1.0 + residual * residual / (nu * variance);
    if (!(product * factor < kNearOverflow)) {
      logarithm += std::log(product);
      product = 1.0;
    }
    product *= factor;
  }
  return 0.5 * (nu + 1.0) * (logarithm + std::log(product));
}

double residual_weight(const LatentProblem& problem, double residual, double scale) {
  const double variance = scale * scale;
  const double nu = problem.degrees_of_freedom;
  return std::isinf(nu) ? 1.0 / variance
                        : (nu + 1.0) / (nu + residual * residual / variance) / variance;
}

std::vector<MemberRun> to_member_runs(std::span<const dataset::GroupRow> rows,
                                      std::span<const std::size_t> position) {
  std::vector<MemberRun> runs;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Group& members = rows[row].members;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (!(rows[row].throughput[i] > 0.0)) {
        continue;
      }
      MemberRun run{.row = row,
                    .own = position[members[i].profile],
                    .others = {},
                    .log_throughput = std::log(rows[row].throughput[i])};
      for (std::size_t j = 0; j < members.size(); ++j) {
        if (j != i) {
          run.others.push_back(position[members[j].profile]);
        }
      }
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

Linearised linearise(const LatentProblem& problem, const Eigen::VectorXd& latents) {
  Evaluated here;
  evaluate(problem, latents, here);
  Linearised out;
  linearise_at(problem, here, out);
  return out;
}

Eigen::MatrixXd curvature(const Linearised& at, const Eigen::MatrixXd& precision) {
  Eigen::MatrixXd out = precision;
  for (std::size_t k = 0; k < at.weight.size(); ++k) {
    for (const Slope& left : at.slopes(k)) {
      const double weighted = at.weight[k] * left.value;
      for (const Slope& right : at.slopes(k)) {
        if (left.unknown >= right.unknown) {
          out(left.unknown, right.unknown) += weighted * right.value;
        }
      }
    }
  }
  return out;
}

double minimise(const LatentProblem& problem,
                const Eigen::MatrixXd& precision,
                int most_steps,
                Eigen::VectorXd& latents) {
  LatentCost cost(problem, precision);
  learn::FixedFactorRule rule(kConverged);
  return learn::levenberg_marquardt(cost, rule, most_steps, latents).cost;
}

}  // namespace carpool::model
