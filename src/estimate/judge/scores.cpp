#include "estimate/judge/scores.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <variant>

#include "base/statistics.hpp"
#include "base/text/memory_size.hpp"
#include "estimate/cudnn/convolution_workspace.hpp"

namespace carpool::estimate {
namespace {

constexpr auto kGigabyte = static_cast<double>(kPublishedGigabyte);
constexpr double kAboveContext = 100.0 * kMiB;
constexpr double kTopClass8 = 5.0;  // 40 GB and more

// Classes of 1 and 2 GB include their upper edge, those of 8 GB their lower edge.
double class_up(double bytes, double width) {
  return std::ceil(bytes / (width * kGigabyte));
}
double class_down(double bytes) {
  return std::min(std::floor(bytes / (8.0 * kGigabyte)), kTopClass8);
}

// Mean and median of values added one by one.
class Mean {
 public:
  void add(double value) {
    sum_ += value;
    values_.push_back(value);
  }
  void add(bool value) { add(value ? 1.0 : 0.0); }
  [[nodiscard]] std::optional<double> mean() const {
    return values_.empty() ? std::nullopt
                           : std::optional(sum_ / static_cast<double>(values_.size()));
  }
  [[nodiscard]] std::optional<double> median() const {
    return values_.empty() ? std::nullopt : std::optional(carpool::median(values_));
  }

 private:
  double sum_ = 0.0;
  std::vector<double> values_;
};

struct Tally {
  Mean accuracy1;
  Mean accuracy2;
  Mean accuracy8;
  Mean error;
  Mean error_above;
  Mean under;
  Mean under5;
  Mean over;
  Mean covered;
  Mean bound_under5;
  Mean waste;
  Mean waste_gb;
  Mean ratio;
  Mean seconds;
  std::set<std::size_t> rows;

  void add(const MeasuredJob& row, const RowEstimate& estimate, double context) {
    rows.insert(estimate.row);
    if (estimate.seconds > 0.0) {
      seconds.add(estimate.seconds);
    }
    if (!row.finished) {
      accuracy8.add(class_down(estimate.expected) == kTopClass8);
      return;
    }
    const auto truth = static_cast<double>(row.truth());
    const double distance = std::abs(estimate.expected - truth);
    accuracy1.add(class_up(estimate.expected, 1.0) == class_up(truth, 1.0));
    accuracy2.add(class_up(estimate.expected, 2.0) == class_up(truth, 2.0));
    accuracy8.add(class_down(estimate.expected) == class_down(truth));
    error.add(distance / truth);
    if (truth - context > kAboveContext) {
      error_above.add(distance / (truth - context));
    }
    under.add(estimate.expected < truth);
    under5.add(estimate.expected < 0.95 * truth);
    over.add(std::max(0.0, estimate.expected - truth) / kGigabyte);
    covered.add(estimate.upper >= truth);
    bound_under5.add(estimate.upper < 0.95 * truth);
    waste.add(std::max(0.0, estimate.upper - truth) / truth);
    waste_gb.add(std::max(0.0, estimate.upper - truth) / kGigabyte);
    ratio.add(estimate.upper / truth);
  }

  [[nodiscard]] EstimatorScore score() const {
    EstimatorScore out;
    out.rows = rows.size();
    out.accuracy_1gb = accuracy1.mean();
    out.accuracy_2gb = accuracy2.mean();
    out.accuracy_8gb = accuracy8.mean();
    out.mape = error.mean();
    out.mape_above_context = error_above.mean();
    out.median_error = error.median();
    out.under = under.mean();
    out.under_5 = under5.mean();
    out.mean_over_gb = over.mean();
    out.bound_covers = covered.mean();
    out.bound_under_5 = bound_under5.mean();
    out.bound_waste = waste.mean();
    out.bound_waste_median = waste.median();
    out.bound_waste_gb = waste_gb.mean();
    out.bound_ratio_median = ratio.median();
    if (const auto typical = seconds.median()) {
      out.microseconds = *typical * 1e6;
    }
    return out;
  }
};

// Without a measured context, the least memory of any job.
double context_of(const MeasuredJob& row, double least) {
  return row.job.machine.context_bytes ? static_cast<double>(*row.job.machine.context_bytes)
                                       : least;
}

// How cuDNN chooses the workspaces of a job, which determines how predictable they are.
std::string_view workspaces_of(const MeasuredJob& row) {
  const DescribedJob& job = row.job;
  const bool images = std::holds_alternative<LayerList>(job.model.shape) ||
                      std::holds_alternative<CnnShape>(job.model.shape);
  if (images && job.setup.autotune) {
    return "autotuned convolutions";
  }
  return images && is_strict_fp32(job.setup) ? "strict fp32 convolutions" : "neither";
}

}  // namespace

std::vector<EstimatorScore> score_estimates(const std::string& estimator,
                                            const std::vector<MeasuredJob>& rows,
                                            const std::vector<RowEstimate>& estimates,
                                            const std::set<std::size_t>& unanswered) {
  double least = std::numeric_limits<double>::infinity();
  std::set<std::string> families;
  std::set<std::string_view> workspaces;
  bool contested = false;
  for (const MeasuredJob& row : rows) {
    if (row.finished) {
      least = std::min(least, static_cast<double>(row.truth()));
    }
    families.insert(row.job.model.family);
    workspaces.insert(workspaces_of(row));
    contested = contested || row.contested;
  }
  std::vector<EstimatorScore> scores;
  const auto add = [&](const std::string& family,
                       const std::function<bool(const MeasuredJob&)>& belongs) {
    Tally tally;
    for (const RowEstimate& estimate : estimates) {
      const MeasuredJob& row = rows[estimate.row];
      if (belongs(row)) {
        tally.add(row, estimate, context_of(row, least));
      }
    }
    EstimatorScore score = tally.score();
    score.estimator = estimator;
    score.family = family;
    score.unanswered = static_cast<std::size_t>(
        std::ranges::count_if(unanswered, [&](std::size_t index) { return belongs(rows[index]); }));
    scores.push_back(std::move(score));
  };
  add("all", [](const MeasuredJob&) { return true; });
  if (contested) {
    add("uncontested", [](const MeasuredJob& row) { return !row.contested; });
  }
  for (const std::string& family : families) {
    if (families.size() > 1) {
      add(family, [&](const MeasuredJob& row) { return row.job.model.family == family; });
    }
  }
  for (const std::string_view kind : workspaces) {
    if (workspaces.size() > 1) {
      add(std::string(kind), [&](const MeasuredJob& row) { return workspaces_of(row) == kind; });
    }
  }
  return scores;
}

}  // namespace carpool::estimate
