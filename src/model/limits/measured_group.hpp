// The speed that the unknowns of the thread-limit fit give a measured group, and its derivatives.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <Eigen/Core>

#include "model/limits/robust_fit.hpp"
#include "model/share_parameters.hpp"

namespace carpool::model {

struct MeasuredMember {
  ShareParameters share;               // given, not fitted
  double gpu_share = 1.0;              // thread limit, 0 to 1
  Eigen::Index workload = 0;           // first of its unknowns, see WorkloadAt
  std::optional<Eigen::Index> offset;  // first of its offsets, see OffsetAt; empty: none
};

struct MeasuredGroup {
  std::vector<MeasuredMember> members;
  double overlap_rate = 0.0;
};

// f = log T_i for the member i, by the formula of LimitParameters with the offsets of the campaign:
//   f = delta_i + log s_i + c_i - (1 - W_i) a_i - log D_i
// Where `row`, which must be empty, is not null, it becomes df/dx. With E_j and M_j the two
// summands of j in D_i, divided by D_i, and L = dlog s/dkappa = k (p - 1) / ((1 + k)(p + k)):
//   df/ddelta_i = 1           df/da_i = -(1 - W_i)
//   df/dkappa_i = L_i         df/dkappa_j = -M_j L_j       (the same for epsilon)
//   df/dG_i = -sum of M_j     df/dh_j = -M_j
//   df/dzeta_i = sum of E_j   df/dzeta_j = -E_j
[[nodiscard]] double log_speed(const MeasuredGroup& group,
                               std::size_t member,
                               const Eigen::VectorXd& x,
                               SparseRow* row);

}  // namespace carpool::model
