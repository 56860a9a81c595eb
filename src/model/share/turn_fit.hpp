// The fit of the turn law, by which `share` predicts groups of three and more.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "model/share/design.hpp"
#include "model/share/latent_fit.hpp"
#include "model/share/prior.hpp"
#include "model/share/turn_law.hpp"

namespace carpool::model {

// What the four blocks of latents are in this law.
inline constexpr Block kTurnCost = Block::Capacity;  // log of the speed beside others / solo speed
inline constexpr Block kTurnLength = Block::Weight;  // log of the length of a turn
inline constexpr Block kTurnOpen = Block::Headroom;  // logit of the open share
inline constexpr Block kTurnSlip = Block::Gap;       // log of the slip

// The prior of the latents, around zero (docs/model.md, table 3).
[[nodiscard]] std::span<const Effect> turn_effects();

struct TurnFit {
  Eigen::VectorXd latents;        // 4 blocks, in each one entry per trained workload
  std::vector<double> variances;  // of turn_effects(), after the evidence
  Eigen::MatrixXd covariance;     // posterior of `latents` (Laplace)
  double noise = 0.0;             // scale of a group run, log units
  double inflation = 1.0;         // factor on interval widths, from leave-one-out
};

// One workload's turn, from its latents; a usual workload has zeros.
[[nodiscard]] Turn turn_from_latents(double length, double open, double slip);

// `log_solo`: log of the solo speed of each trained workload, units/s.
[[nodiscard]] TurnFit fit_turns(const ShareDesign& design,
                                const ShareDesign::Coordinates& places,
                                const std::vector<MemberRun>& runs,
                                const Eigen::VectorXd& log_solo);

// Residuals and slopes at a point.
[[nodiscard]] Linearised linearise_turns(const LatentProblem& problem,
                                         const Eigen::VectorXd& latents);

}  // namespace carpool::model
