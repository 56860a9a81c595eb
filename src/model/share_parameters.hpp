// The parameters of one workload in the proportional-share model.
#pragma once

namespace carpool::model {

// Without thread limits, member i of a group S runs at
//   T_i(S) = exp(c_i) / (1 + sum over the others j of exp(b_j - b_i - d_i))   units/s.
struct ShareParameters {
  double log_capacity = 0.0;  // c: logarithm of units/s
  double log_weight = 0.0;    // b: how much GPU time its kernels take from others
  double headroom =
      0.0;  // d: 0 for a job that fills the GPU, above 0 for one that leaves it partly idle
};

}  // namespace carpool::model
