#include "model/limits/limit_terms.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "model/limits/overlap.hpp"

namespace carpool::model {
namespace {

// Noise of a measured log speed. Groups at 100 % each also carry the error of the share model,
// whose parameters are fixed here; under limits only the noise of the measurement remains.
// Student-t, since some runs are outliers.
constexpr double kNoiseLimited = 0.04;
constexpr double kNoiseUnlimited = 0.1;
constexpr double kNoiseTail = 4.0;

// Prior means of the population where rows determine it (see docs/mps-splits.md).
constexpr double kVagueContention = -2.0;
constexpr double kVagueSharingGain = 0.2;

// Prior standard deviations of the population …
constexpr double kSdPopulationParallelism = 1.0;
constexpr double kSdParallelismSlope = 2.0;
constexpr double kSdPopulationContention = 1.0;
constexpr double kSdContentionSlope = 1.0;
constexpr double kSdPopulationGain = 0.3;
// … of a workload around it …
constexpr double kSdParallelism = 1.0;
constexpr double kSdContention = 0.5;
constexpr double kSdGain = 0.2;
// … and of the offsets of a workload in another campaign. Their tail is heavy: nearly all jobs
// stayed the same, a few were rewritten and run at a quite different speed.
constexpr std::array<double, OffsetAt::kCount> kOffsetScale{0.1, 0.2, 0.2};
constexpr double kOffsetTail = 2.0;

bool is_limited(const Group& group) {
  return std::any_of(group.begin(), group.end(), [](const GroupMember& member) {
    return member.thread_limit < kAllThreads;
  });
}

ShareSlopes mean_share(const LimitLayout& layout, std::span<const ShareParameters> share) {
  ShareSlopes mean;
  const auto count = static_cast<double>(layout.workloads().size());
  for (const auto& [profile, first] : layout.workloads()) {
    mean.weight += share[profile].log_weight / count;
    mean.headroom += share[profile].headroom / count;
  }
  return mean;
}

// Vague for the parts that the rows determine; the shipped population for the others.
LimitPopulation prior_population(const LimitLayout& layout,
                                 std::span<const ShareParameters> share,
                                 std::span<const dataset::GroupRow> groups,
                                 std::span<const dataset::LimitedRun> solo_runs) {
  if (layout.workloads().empty()) {
    return shipped_population();
  }
  LimitPopulation prior = shipped_population().recentred(mean_share(layout, share));
  const bool groups_limited =
      std::any_of(groups.begin(), groups.end(), [](const dataset::GroupRow& row) {
        return is_limited(row.members);
      });
  const bool solo_limited =
      std::any_of(solo_runs.begin(), solo_runs.end(), [](const dataset::LimitedRun& run) {
        return run.thread_limit < kAllThreads;
      });
  if (groups_limited || solo_limited) {
    prior.log_parallelism = 0.0;
    prior.parallelism = {};
  }
  if (groups_limited) {
    prior.log_contention = kVagueContention;
    prior.sensitivity = {};
    prior.pressure = {};
    prior.sharing_gain = kVagueSharingGain;
  }
  return prior;
}

}  // namespace

LimitTerms::LimitTerms(std::span<const ShareParameters> share,
                       std::span<const dataset::GroupRow> groups,
                       std::span<const dataset::LimitedRun> solo_runs,
                       const std::string& reference_campaign)
    : layout_(groups, solo_runs, reference_campaign),
      prior_(prior_population(layout_, share, groups, solo_runs)) {
  for (const dataset::GroupRow& row : groups) {
    add_measurement(share, row.members, row.throughput, row.campaign);
  }
  for (const dataset::LimitedRun& run : solo_runs) {
    const Group group{{.profile = run.profile, .thread_limit = run.thread_limit}};
    add_measurement(share, group, std::span(&run.throughput, 1), std::nullopt);
  }
  add_population_priors();
  add_workload_priors(share);
  add_offset_priors();
}

void LimitTerms::add_measurement(std::span<const ShareParameters> share,
                                 const Group& group,
                                 std::span<const double> throughput,
                                 const LimitLayout::Campaign& campaign) {
  MeasuredGroup measured{.members = {}, .overlap_rate = overlap_rate(group)};
  const bool shared_by_all = group.size() > 1 && !is_limited(group);
  for (std::size_t i = 0; i < group.size(); ++i) {
    const std::size_t profile = group[i].profile;
    measured.members.push_back({.share = share[profile],
                                .gpu_share = gpu_share(group[i]),
                                .workload = layout_.workload(profile),
                                .offset = layout_.offset(campaign, profile)});
    if (throughput[i] > 0.0) {
      observations_.push_back({.group = groups_.size(),
                               .member = i,
                               .log_speed = std::log(throughput[i]),
                               .deviation = shared_by_all ? kNoiseUnlimited : kNoiseLimited});
    }
  }
  groups_.push_back(std::move(measured));
}

void LimitTerms::add_population_priors() {
  Eigen::VectorXd means(PopulationAt::kCount);
  LimitLayout::store(prior_, means);
  Eigen::VectorXd deviations(PopulationAt::kCount);
  LimitLayout::store(
      {.centre = {},
       .log_parallelism = kSdPopulationParallelism,
       .parallelism = {.weight = kSdParallelismSlope, .headroom = kSdParallelismSlope},
       .log_contention = kSdPopulationContention,
       .sensitivity = {.weight = kSdContentionSlope, .headroom = kSdContentionSlope},
       .pressure = {.weight = kSdContentionSlope, .headroom = kSdContentionSlope},
       .sharing_gain = kSdPopulationGain},
      deviations);
  for (Eigen::Index i = 0; i < PopulationAt::kCount; ++i) {
    priors_.push_back(
        {.row = {{.column = i, .slope = 1.0}}, .target = means[i], .deviation = deviations[i]});
  }
}

// Each parameter of a workload lies around what the population expects of it:
//   parameter - constant - slopes . (b - mean b, d - mean d) ~ N(0, sd^2)
void LimitTerms::add_workload_priors(std::span<const ShareParameters> share) {
  for (const auto& [profile, first] : layout_.workloads()) {
    const double weight = share[profile].log_weight - prior_.centre.weight;
    const double headroom = share[profile].headroom - prior_.centre.headroom;
    const auto sloped = [&](Eigen::Index parameter, Eigen::Index slopes) {
      return SparseRow{{.column = parameter, .slope = 1.0},
                       {.column = slopes, .slope = -weight},
                       {.column = slopes + 1, .slope = -headroom}};
    };
    SparseRow parallelism =
        sloped(first + WorkloadAt::kParallelism, PopulationAt::kParallelismSlopes);
    parallelism.push_back({.column = PopulationAt::kParallelism, .slope = -1.0});
    SparseRow sensitivity =
        sloped(first + WorkloadAt::kSensitivity, PopulationAt::kSensitivitySlopes);
    sensitivity.push_back({.column = PopulationAt::kContention, .slope = -1.0});
    priors_.push_back({.row = std::move(parallelism), .deviation = kSdParallelism});
    priors_.push_back({.row = std::move(sensitivity), .deviation = kSdContention});
    priors_.push_back({.row = sloped(first + WorkloadAt::kPressure, PopulationAt::kPressureSlopes),
                       .deviation = kSdContention});
    priors_.push_back({.row = {{.column = first + WorkloadAt::kSharingGain, .slope = 1.0},
                               {.column = PopulationAt::kSharingGain, .slope = -1.0}},
                       .deviation = kSdGain});
  }
}

void LimitTerms::add_offset_priors() {
  for (const auto& [key, first] : layout_.offsets()) {
    const Eigen::Index count = key.first ? OffsetAt::kCount : OffsetAt::kCountSolo;
    for (Eigen::Index i = 0; i < count; ++i) {
      priors_.push_back({.row = {{.column = first + i, .slope = 1.0}},
                         .deviation = kOffsetScale[static_cast<std::size_t>(i)],
                         .tail = kOffsetTail});
    }
  }
}

double LimitTerms::tail(std::size_t term) const {
  return term < observations_.size() ? kNoiseTail : priors_[term - observations_.size()].tail;
}

double LimitTerms::residual(std::size_t term, const Eigen::VectorXd& x, SparseRow* row) const {
  if (term < observations_.size()) {
    const Observation& seen = observations_[term];
    const double expected = log_speed(groups_[seen.group], seen.member, x, row);
    if (row != nullptr) {
      for (SparseEntry& entry : *row) {
        entry.slope /= seen.deviation;
      }
    }
    return (expected - seen.log_speed) / seen.deviation;
  }
  const Prior& prior = priors_[term - observations_.size()];
  double value = -prior.target;
  for (const SparseEntry& entry : prior.row) {
    value += entry.slope * x[entry.column];
    if (row != nullptr) {
      row->push_back({.column = entry.column, .slope = entry.slope / prior.deviation});
    }
  }
  return value / prior.deviation;
}

Eigen::VectorXd LimitTerms::start(std::span<const ShareParameters> share) const {
  Eigen::VectorXd x = Eigen::VectorXd::Zero(layout_.size());
  LimitLayout::store(prior_, x);
  for (const auto& [profile, first] : layout_.workloads()) {
    layout_.store(profile, prior_.expect(share[profile]), x);
  }
  return x;
}

}  // namespace carpool::model
