#include "model/limits/measured_group.hpp"

#include <cmath>

#include "model/limits/limit_layout.hpp"
#include "model/limits/overlap.hpp"

namespace carpool::model {
namespace {

double offset_of(const MeasuredMember& member, Eigen::Index which, const Eigen::VectorXd& x) {
  return member.offset ? x[*member.offset + which] : 0.0;
}

// Solo speed left under the limit, and the derivative of its logarithm in kappa.
struct SpeedLeft {
  double value = 1.0;
  double slope = 0.0;
};

SpeedLeft speed_left(const MeasuredMember& member, const Eigen::VectorXd& x) {
  const double k = std::exp(x[member.workload + WorkloadAt::kParallelism] +
                            offset_of(member, OffsetAt::kParallelism, x));
  const double p = member.gpu_share;
  return {.value = p * (1.0 + k) / (p + k), .slope = k * (p - 1.0) / ((1.0 + k) * (p + k))};
}

double log_weight(const MeasuredMember& member, const Eigen::VectorXd& x) {
  return member.share.log_weight + offset_of(member, OffsetAt::kWeight, x);
}

void add_offset(const MeasuredMember& member, Eigen::Index which, double slope, SparseRow& row) {
  if (member.offset) {
    row.push_back({.column = *member.offset + which, .slope = slope});
  }
}

void add_parallelism(const MeasuredMember& member, double slope, SparseRow& row) {
  row.push_back({.column = member.workload + WorkloadAt::kParallelism, .slope = slope});
  add_offset(member, OffsetAt::kParallelism, slope, row);
}

// The effect of the others on a member.
struct Others {
  double seized = 0.0;   // sum over j of w_ij exp(b_j - b_i - d_i)
  double traffic = 0.0;  // sum over j of (1 - w_ij) exp(G_i + h_j) s_j
  double apart = 1.0;    // 1 - W_i
  [[nodiscard]] double divisor() const { return 1.0 + seized + traffic; }
};

// Appends -dD_i/dx to the row.
Others look_at_others(const MeasuredGroup& group,
                      std::size_t member,
                      const Eigen::VectorXd& x,
                      SparseRow* row) {
  const MeasuredMember& own = group.members[member];
  Others sum;
  for (std::size_t j = 0; j < group.members.size(); ++j) {
    if (j == member) {
      continue;
    }
    const MeasuredMember& other = group.members[j];
    const double shared = overlap(group.overlap_rate, other.gpu_share);
    const SpeedLeft speed = speed_left(other, x);
    const double seized =
        shared * std::exp(log_weight(other, x) - log_weight(own, x) - own.share.headroom);
    const double traffic = (1.0 - shared) * speed.value *
                           std::exp(x[own.workload + WorkloadAt::kSensitivity] +
                                    x[other.workload + WorkloadAt::kPressure]);
    sum.seized += seized;
    sum.traffic += traffic;
    sum.apart *= 1.0 - shared;
    if (row != nullptr) {
      row->push_back({.column = other.workload + WorkloadAt::kPressure, .slope = -traffic});
      row->push_back({.column = own.workload + WorkloadAt::kSensitivity, .slope = -traffic});
      add_parallelism(other, -traffic * speed.slope, *row);
      add_offset(other, OffsetAt::kWeight, -seized, *row);
      add_offset(own, OffsetAt::kWeight, seized, *row);
    }
  }
  return sum;
}

}  // namespace

double log_speed(const MeasuredGroup& group,
                 std::size_t member,
                 const Eigen::VectorXd& x,
                 SparseRow* row) {
  const MeasuredMember& own = group.members[member];
  const Others others = look_at_others(group, member, x, row);
  const SpeedLeft speed = speed_left(own, x);
  const Eigen::Index gain = own.workload + WorkloadAt::kSharingGain;
  if (row != nullptr) {
    for (SparseEntry& entry : *row) {
      entry.slope /= others.divisor();
    }
    add_parallelism(own, speed.slope, *row);
    row->push_back({.column = gain, .slope = -others.apart});
    add_offset(own, OffsetAt::kSpeed, 1.0, *row);
  }
  return offset_of(own, OffsetAt::kSpeed, x) + std::log(speed.value) + own.share.log_capacity -
         others.apart * x[gain] - std::log(others.divisor());
}

}  // namespace carpool::model
