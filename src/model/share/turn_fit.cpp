#include "model/share/turn_fit.hpp"

#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "learn/levenberg_marquardt.hpp"
#include "learn/small_cholesky.hpp"
#include "model/share/evidence.hpp"
#include "model/share/leave_one_out.hpp"

namespace carpool::model {
namespace {

// Logit of a usual workload: others get in for a quarter of its time. The fit hardly depends on it.
constexpr double kUsualOpen = -1.0;

constexpr double kTurnNoise = 0.1;             // start, log units
constexpr double kTurnDegreesOfFreedom = 4.0;  // some pairs do not follow the law
constexpr double kTurnConverged = 1e-6;
constexpr int kTurnRounds = 6;
constexpr int kTurnSteps = 30;    // in the first and the last round
constexpr int kFewTurnSteps = 3;  // in between

constexpr std::array kTurnEffects = {
    Effect{kTurnCost, Similarity::Common, 0.1, true},
    Effect{kTurnCost, Similarity::Features, 0.05, true},
    Effect{kTurnCost, Similarity::Own, 0.2, true},
    Effect{kTurnLength, Similarity::Features, 0.08, true},
    Effect{kTurnLength, Similarity::Family, 0.4, true},
    Effect{kTurnLength, Similarity::Batch, 0.3, true},
    Effect{kTurnLength, Similarity::FamilyBatch, 0.3, true},
    Effect{kTurnLength, Similarity::Own, 0.5, true},
    Effect{kTurnOpen, Similarity::Common, 0.5, true},
    Effect{kTurnOpen, Similarity::Features, 0.2, true},
    Effect{kTurnOpen, Similarity::Family, 0.4, true},
    Effect{kTurnOpen, Similarity::Own, 0.5, true},
    Effect{kTurnSlip, Similarity::Common, 0.5, true},
    Effect{kTurnSlip, Similarity::Features, 0.1, true},
    Effect{kTurnSlip, Similarity::Own, 0.7, true},
};

Eigen::Index latent_at(Block block, std::size_t workload, std::size_t workloads) {
  return static_cast<Eigen::Index>(static_cast<std::size_t>(block) * workloads + workload);
}

std::vector<Turn> turns_at(const LatentProblem& problem, const Eigen::VectorXd& latents) {
  std::vector<Turn> turns;
  turns.reserve(problem.workloads);
  for (std::size_t i = 0; i < problem.workloads; ++i) {
    turns.push_back(turn_from_latents(latents(latent_at(kTurnLength, i, problem.workloads)),
                                      latents(latent_at(kTurnOpen, i, problem.workloads)),
                                      latents(latent_at(kTurnSlip, i, problem.workloads))));
  }
  return turns;
}

std::vector<Turn> others_of(const MemberRun& run, const std::vector<Turn>& turns) {
  std::vector<Turn> others;
  others.reserve(run.others.size());
  for (const std::size_t other : run.others) {
    others.push_back(turns[other]);
  }
  return others;
}

std::vector<double> turn_residuals(const LatentProblem& problem, const Eigen::VectorXd& latents) {
  const std::vector<Turn> turns = turns_at(problem, latents);
  std::vector<double> residuals;
  residuals.reserve(problem.runs.size());
  for (const MemberRun& run : problem.runs) {
    residuals.push_back(run.log_throughput - problem.level(static_cast<Eigen::Index>(run.own)) -
                        latents(latent_at(kTurnCost, run.own, problem.workloads)) -
                        std::log(progress(turns[run.own], others_of(run, turns))));
  }
  return residuals;
}

class TurnCost final : public learn::LeastSquaresProblem {
 public:
  TurnCost(const LatentProblem& problem, const Eigen::MatrixXd& precision)
      : problem_(problem), precision_(precision) {}

  [[nodiscard]] double cost(const Eigen::VectorXd& latents) override {
    return 0.5 * latents.dot(precision_.selfadjointView<Eigen::Lower>() * latents) +
           residual_loss(problem_, turn_residuals(problem_, latents), problem_.noise);
  }

  void linearise(const Eigen::VectorXd& latents) override {
    const Linearised here = linearise_turns(problem_, latents);
    normal_ = curvature(here, precision_);
    descent_ = -(precision_.selfadjointView<Eigen::Lower>() * latents);
    for (std::size_t k = 0; k < here.weight.size(); ++k) {
      for (const Slope& slope : here.slopes(k)) {
        descent_(slope.unknown) += here.weight[k] * here.residual[k] * slope.value;
      }
    }
  }

  [[nodiscard]] std::optional<Eigen::VectorXd> step(double damping) const override {
    Eigen::MatrixXd damped = normal_;
    damped.diagonal() *= 1.0 + damping;
    return learn::SmallCholesky(std::move(damped)).solve(descent_);
  }

 private:
  const LatentProblem& problem_;
  const Eigen::MatrixXd& precision_;
  Eigen::MatrixXd normal_;
  Eigen::VectorXd descent_;
};

// Factor on interval widths. Where groups of three and more were trained on, by them: they are what
// the law predicts, and it fits pairs better.
double inflation_of(const std::vector<MemberRun>& runs, const LeftOut& left_out) {
  std::vector<MemberRun> larger;
  std::vector<Eigen::Index> positions;
  for (std::size_t k = 0; k < runs.size(); ++k) {
    if (runs[k].others.size() > 1) {
      larger.push_back(runs[k]);
      positions.push_back(static_cast<Eigen::Index>(k));
    }
  }
  if (larger.size() < kFewestLeftOut) {
    return judge_left_out(runs, left_out).inflation;
  }
  const LeftOut of_larger{.residual = left_out.residual(positions),
                          .width = left_out.width(positions)};
  return judge_left_out(larger, of_larger).inflation;
}

}  // namespace

std::span<const Effect> turn_effects() {
  return kTurnEffects;
}

Turn turn_from_latents(double length, double open, double slip) {
  return turn_of(length, kUsualOpen + open, slip);
}

Linearised linearise_turns(const LatentProblem& problem, const Eigen::VectorXd& latents) {
  const std::vector<Turn> turns = turns_at(problem, latents);
  Linearised out;
  out.residual = turn_residuals(problem, latents);
  for (std::size_t k = 0; k < problem.runs.size(); ++k) {
    const MemberRun& run = problem.runs[k];
    const ProgressSlopes slopes = progress_slopes(turns[run.own], others_of(run, turns));
    const auto add = [&](std::size_t workload, const TurnSlopes& of) {
      const auto slope = [&](Block block, double value) {
        out.all_slopes.push_back({latent_at(block, workload, problem.workloads), value});
      };
      slope(kTurnLength, of.length);
      slope(kTurnOpen, of.open);
      slope(kTurnSlip, of.slip);
    };
    out.all_slopes.push_back({latent_at(kTurnCost, run.own, problem.workloads), 1.0});
    add(run.own, slopes.own);
    for (std::size_t j = 0; j < run.others.size(); ++j) {
      add(run.others[j], slopes.others[j]);
    }
    out.weight.push_back(residual_weight(problem, out.residual[k], problem.noise));
    out.ends.push_back(out.all_slopes.size());
  }
  return out;
}

TurnFit fit_turns(const ShareDesign& design,
                  const ShareDesign::Coordinates& places,
                  const std::vector<MemberRun>& runs,
                  const Eigen::VectorXd& log_solo) {
  LatentProblem problem{.workloads = places.name.size(),
                        .runs = runs,
                        .level = log_solo,
                        .log_solo = {},
                        .noise = kTurnNoise,
                        .noise_solo = kTurnNoise,
                        .degrees_of_freedom = kTurnDegreesOfFreedom};
  TurnFit fit;
  fit.variances = starting_variances(turn_effects());
  fit.latents = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(kBlocks * problem.workloads));
  const auto similarity = similarity_matrices(design, turn_effects(), places);
  const EvidenceUpdate update(turn_effects(), similarity, kTurnNoise);
  for (int round = 0; round < kTurnRounds; ++round) {
    const bool last = round == kTurnRounds - 1;
    const PriorPrecision prior =
        prior_precision(turn_effects(), similarity, fit.variances, kBlocks);
    TurnCost cost(problem, prior.precision);
    learn::FixedFactorRule rule(kTurnConverged);
    learn::levenberg_marquardt(
        cost, rule, round == 0 || last ? kTurnSteps : kFewTurnSteps, fit.latents);
    const Linearised here = linearise_turns(problem, fit.latents);
    fit.covariance = learn::SmallCholesky(curvature(here, prior.precision)).inverse();
    if (last) {
      const LeftOut left_out = leave_one_row_out(problem, here, fit.covariance, problem.noise);
      fit.inflation = inflation_of(runs, left_out);
    } else {
      update.move(here, prior, fit.latents, fit.covariance, fit.variances, problem);
    }
  }
  fit.noise = problem.noise;
  return fit;
}

}  // namespace carpool::model
