// Levenberg-Marquardt: minimises a sum of squares, or of losses that are re-weighted to squares at
// each point, by steps of the damped linearised problem.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include <Eigen/Core>

namespace carpool::learn {

// The cost to minimise. It may keep what it computed for the last point.
class LeastSquaresProblem {
 public:
  virtual ~LeastSquaresProblem() = default;

  [[nodiscard]] virtual double cost(const Eigen::VectorXd& x) = 0;

  // Prepares steps from x, the last point that cost() was called with and was accepted.
  virtual void linearise(const Eigen::VectorXd& x) = 0;

  // The step from there under this damping; nothing where the damped matrix is not positive
  // definite.
  [[nodiscard]] virtual std::optional<Eigen::VectorXd> step(double damping) const = 0;
};

// Which damping a step gets, whether it is accepted, and when the search ends.
class StepRule {
 public:
  struct Outcome {
    double before = 0.0;  // cost
    double after = 0.0;
    bool first_try = false;  // the first damping tried at this point succeeded
  };

  virtual ~StepRule() = default;

  [[nodiscard]] double damping() const { return damping_; }
  [[nodiscard]] virtual bool exhausted() const = 0;  // no larger damping is tried
  // False as well for a cost that is not a number.
  [[nodiscard]] virtual bool accepts(double before, double after) const = 0;
  virtual void on_accept(const Eigen::VectorXd& step, double gain) = 0;
  virtual void on_refuse() = 0;
  [[nodiscard]] virtual bool converged(const Outcome& outcome) const = 0;

 protected:
  double damping_ = 1e-3;
};

// The damping falls as far as the predicted gain proves right, and rises ever faster while steps
// fail (Nielsen, "Damping parameter in Marquardt's method", 1999).
class NielsenRule final : public StepRule {
 public:
  // The decrease of the cost that the linearised problem predicts for a step under this damping.
  using PredictedGain = std::function<double(const Eigen::VectorXd& step, double damping)>;

  // Ends when a step that succeeds at once lowers the cost by at most `tolerance` of itself.
  NielsenRule(double tolerance, PredictedGain predicted_gain)
      : tolerance_(tolerance), predicted_gain_(std::move(predicted_gain)) {}

  [[nodiscard]] bool exhausted() const override;
  [[nodiscard]] bool accepts(double before, double after) const override;
  void on_accept(const Eigen::VectorXd& step, double gain) override;
  void on_refuse() override;
  [[nodiscard]] bool converged(const Outcome& outcome) const override;

 private:
  double tolerance_;
  PredictedGain predicted_gain_;
  double rise_ = 2.0;
};

// Four times the damping after a failed step, a fifth of it after a successful one.
class FixedFactorRule final : public StepRule {
 public:
  // Ends when a step lowers the cost by less than `tolerance` of itself.
  explicit FixedFactorRule(double tolerance) : tolerance_(tolerance) {}

  [[nodiscard]] bool exhausted() const override;
  [[nodiscard]] bool accepts(double before, double after) const override;
  void on_accept(const Eigen::VectorXd& step, double gain) override;
  void on_refuse() override;
  [[nodiscard]] bool converged(const Outcome& outcome) const override;

 private:
  double tolerance_;
};

struct LevenbergMarquardtFit {
  double cost = 0.0;
  int iterations = 0;
};

// Moves x from its start to the minimum, by at most `max_iterations` accepted steps.
LevenbergMarquardtFit levenberg_marquardt(LeastSquaresProblem& problem,
                                          StepRule& rule,
                                          int max_iterations,
                                          Eigen::VectorXd& x);

}  // namespace carpool::learn
