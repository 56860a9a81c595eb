#include "model/share/latent_fit.hpp"

#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>

namespace carpool {
namespace {

// Damping of Levenberg-Marquardt, as given for this model: start, failure, success, give up.
constexpr double kFirstDamping = 1e-3;
constexpr double kMoreDamping = 4.0;
constexpr double kLessDamping = 5.0;
constexpr double kMostDamping = 1e8;
constexpr double kConverged = 1e-6;

double loss(const LatentProblem& problem, double residual, double scale) {
  const double square = residual * residual / (scale * scale);
  const double nu = problem.degrees_of_freedom;
  return std::isinf(nu) ? 0.5 * square : 0.5 * (nu + 1.0) * std::log1p(square / nu);
}

// Derivative of the loss divided by the residual.
double loss_weight(const LatentProblem& problem, double residual, double scale) {
  const double variance = scale * scale;
  const double nu = problem.degrees_of_freedom;
  return std::isinf(nu) ? 1.0 / variance
                        : (nu + 1.0) / (nu + residual * residual / variance) / variance;
}

Eigen::Index at(std::size_t block, std::size_t workload, const LatentProblem& problem) {
  return static_cast<Eigen::Index>(block * problem.workloads + workload);
}

// 1 + sum of exp(b_j - b_i - d_i), and the terms themselves.
double crowding(const LatentProblem& problem,
                const Eigen::VectorXd& latents,
                const CoRun& run,
                std::vector<double>* terms) {
  const double resistance = latents(at(1, run.own, problem)) + latents(at(2, run.own, problem));
  double total = 1.0;
  for (const std::size_t other : run.others) {
    const double term = std::exp(latents(at(1, other, problem)) - resistance);
    total += term;
    if (terms != nullptr) {
      terms->push_back(term);
    }
  }
  return total;
}

double co_run_residual(const LatentProblem& problem,
                       const Eigen::VectorXd& latents,
                       const CoRun& run,
                       double crowd) {
  const auto own = static_cast<Eigen::Index>(run.own);
  return run.log_throughput - problem.level(own) - latents(own) + std::log(crowd);
}

double alone_residual(const LatentProblem& problem,
                      const Eigen::VectorXd& latents,
                      std::size_t workload) {
  const auto own = static_cast<Eigen::Index>(workload);
  return problem.log_alone(own) - problem.level(own) - latents(own) +
         latents(at(3, workload, problem));
}

double cost(const LatentProblem& problem,
            const Eigen::MatrixXd& precision,
            const Eigen::VectorXd& latents) {
  double total = 0.5 * latents.dot(precision.selfadjointView<Eigen::Lower>() * latents);
  for (const CoRun& run : problem.co_runs) {
    const double crowd = crowding(problem, latents, run, nullptr);
    total += loss(problem, co_run_residual(problem, latents, run, crowd), problem.noise);
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(problem.log_alone.size()); ++i) {
    total += loss(problem, alone_residual(problem, latents, i), problem.noise_alone);
  }
  return total;
}

// d log T_i / dc_i = 1, / db_i = / dd_i = sum g, / db_j = -g_j with g_j = term_j / crowding.
std::vector<Slope> co_run_slopes(const LatentProblem& problem,
                                 const CoRun& run,
                                 const std::vector<double>& terms,
                                 double crowd) {
  std::vector<Slope> slopes = {{at(0, run.own, problem), 1.0}};
  double pressed = 0.0;
  double own_weight = 0.0;  // a copy of itself presses with the very weight that resists
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
  return slopes;
}

}  // namespace

std::vector<CoRun> to_co_runs(std::span<const GroupRow> rows,
                              std::span<const std::size_t> position) {
  std::vector<CoRun> runs;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Group& members = rows[row].members;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (!(rows[row].throughput[i] > 0.0)) {
        continue;
      }
      CoRun run{.row = row,
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
  Linearised out;
  out.residual.reserve(problem.observations());
  std::vector<double> terms;
  for (const CoRun& run : problem.co_runs) {
    terms.clear();
    const double crowd = crowding(problem, latents, run, &terms);
    out.residual.push_back(co_run_residual(problem, latents, run, crowd));
    out.weight.push_back(loss_weight(problem, out.residual.back(), problem.noise));
    out.slopes.push_back(co_run_slopes(problem, run, terms, crowd));
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(problem.log_alone.size()); ++i) {
    out.residual.push_back(alone_residual(problem, latents, i));
    out.weight.push_back(loss_weight(problem, out.residual.back(), problem.noise_alone));
    out.slopes.push_back({{at(0, i, problem), 1.0}, {at(3, i, problem), -1.0}});
  }
  return out;
}

Eigen::MatrixXd curvature(const Linearised& at, const Eigen::MatrixXd& precision) {
  Eigen::MatrixXd out = precision;
  for (std::size_t k = 0; k < at.slopes.size(); ++k) {
    for (const Slope& left : at.slopes[k]) {
      for (const Slope& right : at.slopes[k]) {
        out(left.unknown, right.unknown) += at.weight[k] * left.value * right.value;
      }
    }
  }
  return out;
}

double minimise(const LatentProblem& problem,
                const Eigen::MatrixXd& precision,
                int most_steps,
                Eigen::VectorXd& latents) {
  double damping = kFirstDamping;
  double reached = cost(problem, precision, latents);
  for (int step = 0; step < most_steps; ++step) {
    const Linearised here = linearise(problem, latents);
    const Eigen::MatrixXd normal = curvature(here, precision);
    Eigen::VectorXd descent = -(precision.selfadjointView<Eigen::Lower>() * latents);
    for (std::size_t k = 0; k < here.slopes.size(); ++k) {
      for (const Slope& slope : here.slopes[k]) {
        descent(slope.unknown) += here.weight[k] * here.residual[k] * slope.value;
      }
    }
    double next = reached;
    Eigen::VectorXd moved;
    while (damping < kMostDamping) {
      Eigen::MatrixXd damped = normal;
      damped.diagonal() += damping * normal.diagonal();
      moved = latents + damped.selfadjointView<Eigen::Lower>().llt().solve(descent);
      next = cost(problem, precision, moved);
      if (next < reached) {
        break;
      }
      damping *= kMoreDamping;
    }
    if (!(next < reached)) {
      break;
    }
    const double gain = (reached - next) / std::max(std::abs(reached), 1e-9);
    latents = moved;
    reached = next;
    damping /= kLessDamping;
    if (gain < kConverged) {
      break;
    }
  }
  return reached;
}

}  // namespace carpool
