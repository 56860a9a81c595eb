#include "learn/levenberg_marquardt.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace carpool::learn {
namespace {

constexpr double kLargestDamping = 1e8;

// Tries steps from x with rising damping. False: none is accepted, and x stays.
bool advance(LeastSquaresProblem& problem,
             StepRule& rule,
             Eigen::VectorXd& x,
             StepRule::Outcome& outcome) {
  outcome.first_try = true;
  while (true) {
    if (const auto step = problem.step(rule.damping())) {
      Eigen::VectorXd moved = x + *step;
      outcome.after = problem.cost(moved);
      if (rule.accepts(outcome.before, outcome.after)) {
        rule.on_accept(*step, outcome.before - outcome.after);
        x = std::move(moved);
        return true;
      }
    }
    rule.on_refuse();
    outcome.first_try = false;
    if (rule.exhausted()) {
      return false;
    }
  }
}

}  // namespace

bool NielsenRule::exhausted() const {
  return damping_ > kLargestDamping;
}

bool NielsenRule::accepts(double before, double after) const {
  return after <= before;
}

void NielsenRule::on_accept(const Eigen::VectorXd& step, double gain) {
  constexpr double kSmallest = 1e-9;
  constexpr double kFastestFall = 0.1;
  const double predicted = predicted_gain_(step, damping_);
  const double ratio = predicted > 0.0 ? gain / predicted : 1.0;
  const double surprise = 2.0 * ratio - 1.0;
  damping_ *= std::max(kFastestFall, 1.0 - surprise * surprise * surprise);
  damping_ = std::max(damping_, kSmallest);
  rise_ = 2.0;
}

void NielsenRule::on_refuse() {
  damping_ *= rise_;
  rise_ *= 2.0;
}

bool NielsenRule::converged(const Outcome& outcome) const {
  // A step that had to be damped gains little at any point: it does not indicate the minimum.
  return outcome.first_try && outcome.before - outcome.after <= tolerance_ * outcome.after;
}

bool FixedFactorRule::exhausted() const {
  return damping_ >= kLargestDamping;
}

bool FixedFactorRule::accepts(double before, double after) const {
  return after < before;
}

void FixedFactorRule::on_accept(const Eigen::VectorXd& /*step*/, double /*gain*/) {
  damping_ /= 5.0;
}

void FixedFactorRule::on_refuse() {
  damping_ *= 4.0;
}

bool FixedFactorRule::converged(const Outcome& outcome) const {
  const double gain = outcome.before - outcome.after;
  return gain / std::max(std::abs(outcome.before), 1e-9) < tolerance_;
}

LevenbergMarquardtFit levenberg_marquardt(LeastSquaresProblem& problem,
                                          StepRule& rule,
                                          int max_iterations,
                                          Eigen::VectorXd& x) {
  LevenbergMarquardtFit fit{.cost = problem.cost(x), .iterations = 0};
  while (fit.iterations < max_iterations) {
    ++fit.iterations;
    problem.linearise(x);
    StepRule::Outcome outcome{.before = fit.cost};
    if (!advance(problem, rule, x, outcome)) {
      break;
    }
    fit.cost = outcome.after;
    if (rule.converged(outcome)) {
      break;
    }
  }
  return fit;
}

}  // namespace carpool::learn
