#include "profile/steps/period_finder.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "profile/steps/pauses.hpp"
#include "profile/steps/recurrence.hpp"

namespace carpool::profile {
namespace {

constexpr double kFewestPeriods = 3.0;
// Recurrences this close to each other belong to the same period.
constexpr double kSamePeriod = 1.05;

// An outer period is the step only if the work that it adds to the inner ones is at least this
// share of the launches or of the GPU time.
constexpr double kWeightOfLaunches = 0.01;
constexpr double kWeightOfTime = 0.02;

// Periods must have mostly the same launches and follow each other without gaps.
constexpr double kLeastSimilarity = 0.7;
constexpr double kLeastRegularity = 0.8;
constexpr double kMostMissing = 3.0;  // periods in one gap, where marks were lost
constexpr std::size_t kComparedPeriods = 48;
constexpr std::size_t kMostCandidates = 24;

// A program that repeats one kernel shows its steps only by pauses.
constexpr double kShortPeriod = 4.0;

struct Occurrences {
  std::vector<std::uint32_t> positions;  // grouped by id, ascending within
  std::vector<std::size_t> begin;        // of each id, and the end of the last
  std::vector<double> time_share;        // of each id

  [[nodiscard]] std::size_t ids() const { return time_share.size(); }
  [[nodiscard]] std::span<const std::uint32_t> of(std::size_t id) const {
    return std::span(positions).subspan(begin[id], begin[id + 1] - begin[id]);
  }
};

Occurrences group_by_id(std::span<const StepEvent> events) {
  std::uint32_t most = 0;
  for (const StepEvent& event : events) {
    most = std::max(most, event.id);
  }
  Occurrences out;
  out.begin.assign(std::size_t{most} + 2, 0);
  out.time_share.assign(std::size_t{most} + 1, 0.0);
  double total = 0.0;
  for (const StepEvent& event : events) {
    ++out.begin[event.id + 1];
    out.time_share[event.id] += static_cast<double>(event.duration_ns);
    total += static_cast<double>(event.duration_ns);
  }
  for (double& share : out.time_share) {
    share = total > 0.0 ? share / total : 0.0;
  }
  std::partial_sum(out.begin.begin(), out.begin.end(), out.begin.begin());
  std::vector<std::size_t> next(out.begin.begin(), out.begin.end() - 1);
  out.positions.resize(events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    out.positions[next[events[i].id]++] = static_cast<std::uint32_t>(i);
  }
  return out;
}

struct Candidate {
  std::vector<Recurrence> votes;
  double events = 0.0;  // of one period
};

// The length that most launches support.
double agreed_length(const std::vector<Recurrence>& votes) {
  const auto* best = &votes.front();
  for (const Recurrence& vote : votes) {
    if (std::pair(vote.agreement, vote.period) > std::pair(best->agreement, best->period)) {
      best = &vote;
    }
  }
  return best->period;
}

std::vector<Candidate> candidates_of(std::vector<Recurrence> votes) {
  std::sort(votes.begin(), votes.end(), [](const Recurrence& a, const Recurrence& b) {
    return a.period > b.period;
  });
  std::vector<Candidate> out;
  for (const Recurrence& vote : votes) {
    if (out.empty() || out.back().votes.front().period > vote.period * kSamePeriod) {
      out.emplace_back();
    }
    out.back().votes.push_back(vote);
  }
  for (Candidate& candidate : out) {
    candidate.events = agreed_length(candidate.votes);
  }
  return out;
}

// Similarity of two periods: shared launches over all launches.
class Comparison {
 public:
  Comparison(std::span<const StepEvent> events, std::size_t ids)
      : events_(events), balance_(ids, 0) {}

  double similarity(std::size_t first, std::size_t middle, std::size_t last) {
    count(first, middle, 1);
    count(middle, last, -1);
    std::size_t differing = 0;
    for (std::size_t i = first; i < last; ++i) {
      int& left = balance_[events_[i].id];
      differing += static_cast<std::size_t>(std::abs(left));
      left = 0;
    }
    const double all = static_cast<double>(last - first);
    return (all - static_cast<double>(differing)) / all;
  }

 private:
  void count(std::size_t from, std::size_t to, int sign) {
    for (std::size_t i = from; i < to; ++i) {
      balance_[events_[i].id] += sign;
    }
  }
  std::span<const StepEvent> events_;
  std::vector<int> balance_;
};

// The id whose occurrences start the periods; preferably one that occurs once in each.
const Recurrence& marker_of(const Candidate& candidate) {
  return *std::min_element(
      candidate.votes.begin(), candidate.votes.end(), [](const Recurrence& a, const Recurrence& b) {
        return std::tuple(a.per_period, -a.agreement, a.id) <
               std::tuple(b.per_period, -b.agreement, b.id);
      });
}

struct Laid {
  std::vector<std::uint32_t> marks;  // positions
  std::size_t count = 0;             // periods between the first and the last
  double regularity = 0.0;
  double similarity = 0.0;
};

// Cuts the sequence at the marker. A missing mark leaves a gap of two periods.
Laid lay_out(const Candidate& candidate,
             const Occurrences& occurrences,
             std::span<const StepEvent> events) {
  const Recurrence& marker = marker_of(candidate);
  const auto positions = occurrences.of(marker.id);
  Laid laid;
  for (std::size_t i = 0; i < positions.size(); i += marker.per_period) {
    laid.marks.push_back(positions[i]);
  }
  double regular = 0.0;
  for (std::size_t i = 1; i < laid.marks.size(); ++i) {
    const double gap = laid.marks[i] - laid.marks[i - 1];
    const double periods = std::max(1.0, std::round(gap / candidate.events));
    const bool fits = periods <= kMostMissing && std::abs(gap / candidate.events - periods) <= 0.25;
    laid.count += static_cast<std::size_t>(periods);
    regular += fits ? gap : 0.0;
  }
  const double span = laid.marks.back() - laid.marks.front();
  laid.regularity = span > 0.0 ? regular / span : 0.0;
  if (laid.marks.size() < 3) {
    return laid;
  }
  Comparison comparison(events, occurrences.ids());
  const std::size_t pairs = laid.marks.size() - 2;
  const std::size_t stride = std::max<std::size_t>(1, pairs / kComparedPeriods);
  std::vector<double> similar;
  for (std::size_t i = 0; i < pairs; i += stride) {
    similar.push_back(comparison.similarity(laid.marks[i], laid.marks[i + 1], laid.marks[i + 2]));
  }
  laid.similarity =
      std::accumulate(similar.begin(), similar.end(), 0.0) / static_cast<double>(similar.size());
  return laid;
}

Period measured(const Candidate& candidate, const Laid& laid, std::span<const StepEvent> events) {
  Period period{.events = candidate.events,
                .seconds = 0.0,
                .count = laid.count,
                .confidence = 0.0,
                .marks = {}};
  period.marks.reserve(laid.marks.size());
  for (const std::uint32_t mark : laid.marks) {
    period.marks.push_back(events[mark].start_ns);
  }
  const double span = static_cast<double>(period.marks.back() - period.marks.front()) * 1e-9;
  period.seconds = laid.count > 0 ? span / static_cast<double>(laid.count) : 0.0;
  const double covered = (laid.marks.back() - laid.marks.front() + candidate.events) /
                         static_cast<double>(events.size());
  const double few = 1.0 - 1.0 / static_cast<double>(laid.count + 1);
  period.confidence = laid.regularity * laid.similarity * std::clamp(covered, 0.0, 1.0) * few;
  return period;
}

// The support of this candidate that no inner one has.
bool has_weight(const Candidate& candidate,
                const std::set<std::uint32_t>& inner,
                const Occurrences& occurrences) {
  double launches = 0.0;
  double time = 0.0;
  std::set<std::uint32_t> seen;
  for (const Recurrence& vote : candidate.votes) {
    if (!inner.contains(vote.id) && seen.insert(vote.id).second) {
      launches += static_cast<double>(occurrences.of(vote.id).size());
      time += occurrences.time_share[vote.id];
    }
  }
  const double all = static_cast<double>(occurrences.positions.size());
  return launches / all >= kWeightOfLaunches || time >= kWeightOfTime;
}

std::vector<Recurrence> all_recurrences(const Occurrences& occurrences) {
  const auto all = static_cast<double>(occurrences.positions.size());
  std::vector<Recurrence> votes;
  for (std::size_t id = 0; id < occurrences.ids(); ++id) {
    for (const Recurrence& vote : recurrences(static_cast<std::uint32_t>(id), occurrences.of(id))) {
      if (vote.period * kFewestPeriods <= all) {
        votes.push_back(vote);
      }
    }
  }
  return votes;
}

// The candidates with most support; the others are chance.
void keep_heaviest(std::vector<Candidate>& candidates, const Occurrences& occurrences) {
  const auto launches = [&](const Candidate& candidate) {
    std::size_t sum = 0;
    for (const Recurrence& vote : candidate.votes) {
      sum += occurrences.of(vote.id).size();
    }
    return sum;
  };
  std::sort(candidates.begin(), candidates.end(), [&](const auto& a, const auto& b) {
    return std::pair(launches(a), a.events) > std::pair(launches(b), b.events);
  });
  candidates.resize(std::min(candidates.size(), kMostCandidates));
  std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return a.events < b.events;
  });
}

std::vector<Period> periods_of(std::span<const StepEvent> events) {
  const Occurrences occurrences = group_by_id(events);
  std::vector<Candidate> candidates = candidates_of(all_recurrences(occurrences));
  keep_heaviest(candidates, occurrences);
  std::vector<Period> out;        // innermost first
  std::set<std::uint32_t> inner;  // ids that support one of these
  std::size_t step = 0;
  for (const Candidate& candidate : candidates) {
    const Laid laid = lay_out(candidate, occurrences, events);
    if (laid.regularity < kLeastRegularity || laid.similarity < kLeastSimilarity) {
      continue;
    }
    if (has_weight(candidate, inner, occurrences)) {
      step = out.size();
    }
    for (const Recurrence& vote : candidate.votes) {
      inner.insert(vote.id);
    }
    out.push_back(measured(candidate, laid, events));
  }
  if (!out.empty()) {
    const auto chosen = out.begin() + static_cast<std::ptrdiff_t>(step);
    std::rotate(chosen, chosen + 1, out.end());  // the step goes last; the order is reversed below
    std::reverse(out.begin(), out.end());
  }
  return out;
}

}  // namespace

std::vector<Period> find_periods(std::span<const StepEvent> events) {
  if (events.size() < 4) {
    return {};
  }
  std::vector<Period> found = periods_of(events);
  if (!found.empty() && found.front().events > kShortPeriod) {
    return found;
  }
  const std::vector<Period> paused = periods_of(with_pauses(events));
  if (paused.empty() || (!found.empty() && paused.front().events <= found.front().events)) {
    return found;
  }
  found.insert(found.begin(), paused.front());
  return found;
}

}  // namespace carpool::profile
