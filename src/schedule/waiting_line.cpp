#include "schedule/waiting_line.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace carpool::schedule {
namespace {

constexpr double kLaneWidth = 1.02;
constexpr double kShortestRun = 1.0;
// A line this many times longer than the requested front is sorted once for several calls, for at
// most kSortedFor seconds.
constexpr std::size_t kLongLine = 4;
constexpr double kSortedFor = 20.0;
// Impatient jobs that are tried in one turn: some may fit on no GPU, now or ever.
constexpr std::size_t kMostTried = 16;

int class_rank(JobClass job_class) {
  switch (job_class) {
    case JobClass::Slo:
      return 0;
    case JobClass::Normal:
      return 1;
    case JobClass::BestEffort:
      break;
  }
  return 2;
}

}  // namespace

// The first job of a lane that was not taken yet.
struct WaitingLine::Head {
  double score = 0.0;
  JobId job = 0;
  double weight = 1.0;
  Lane::const_iterator at{};
  Lane::const_iterator end{};

  // For a heap with the highest score on top; of equals, the oldest.
  bool operator<(const Head& other) const {
    return score != other.score ? score < other.score : job > other.job;
  }
};

WaitingLine::LaneKey WaitingLine::lane_of(const Waiting& job, double runtime_s) const {
  LaneKey key;
  // Journals of older servers have priorities of any size.
  const int priority = std::clamp(job.priority, -kMostPriority, kMostPriority);
  key.rank = {!job.first, class_rank(job.job_class), -priority, !job.recovering};
  if (order_ != QueueOrder::Fifo) {
    key.runtime_step = static_cast<int>(std::lround(std::log(runtime_s) / std::log(kLaneWidth)));
  }
  if (order_ == QueueOrder::Fair) {
    key.uid = job.uid;
  }
  return key;
}

double WaitingLine::key_of(const Waiting& job, double runtime_s) const {
  switch (order_) {
    case QueueOrder::Fifo:
      return 0.0;  // by id
    case QueueOrder::Shortest:
      return runtime_s;
    case QueueOrder::Hrrn:
    case QueueOrder::Fair:
      break;
  }
  return job.since_s;
}

double WaitingLine::impatient_at(const Waiting& job, double runtime_s) const {
  const double wait = std::max(patience_.wait_s, patience_.wait_runs * runtime_s);
  return job.since_s + wait;
}

void WaitingLine::enter(const Waiting& job) {
  const double runtime = std::max(job.expected_s, kShortestRun);
  Place place{.lane = lanes_.try_emplace(lane_of(job, runtime)).first,
              .key = key_of(job, runtime),
              .runtime_s = runtime,
              .since_s = job.since_s};
  place.lane->second.emplace(place.key, job.job);
  if (order_ == QueueOrder::Fair) {
    place.impatient_s = impatient_at(job, runtime);
    patience_ends_.emplace(place.impatient_s, job.job);
  }
  if (!behind_sorted(job.job, place)) {
    sorted_.clear();
  }
  places_.insert_or_assign(job.job, place);
}

bool WaitingLine::behind_sorted(JobId job, const Place& place) const {
  const Rank& rank = place.lane->first.rank;
  if (sorted_.empty() || rank != last_rank_) {
    return rank > last_rank_;
  }
  const auto weight = sorted_weights_.find(place.lane->first.uid);
  const double own =
      score(place, sorted_s_, weight == sorted_weights_.end() ? 1.0 : weight->second);
  return own < last_score_ || (own == last_score_ && job > sorted_.back());
}

void WaitingLine::leave(JobId job) {
  const auto found = places_.find(job);
  if (found == places_.end()) {
    return;
  }
  const Place& place = found->second;
  place.lane->second.erase({place.key, job});
  if (place.lane->second.empty()) {
    lanes_.erase(place.lane);
  }
  patience_ends_.erase({place.impatient_s, job});
  places_.erase(found);
}

// Higher goes first.
double WaitingLine::score(const Place& place, double now_s, double weight) const {
  switch (order_) {
    case QueueOrder::Fifo:
      return 0.0;
    case QueueOrder::Shortest:
      return -place.runtime_s;
    case QueueOrder::Hrrn:
    case QueueOrder::Fair:
      break;
  }
  return weight * (1.0 + std::max(now_s - place.since_s, 0.0) / place.runtime_s);
}

// The lanes of one rank, merged.
void WaitingLine::add_rank(Lanes::const_iterator first,
                           Lanes::const_iterator last,
                           std::size_t most,
                           double now_s,
                           const UserWeight& weight,
                           std::vector<JobId>& jobs) {
  std::vector<Head> heads;
  std::optional<std::uint32_t> weighed;
  double user_weight = 1.0;
  for (auto lane = first; lane != last; ++lane) {
    if (order_ == QueueOrder::Fair && weighed != lane->first.uid) {
      weighed = lane->first.uid;
      user_weight = weight(lane->first.uid);
      sorted_weights_.insert_or_assign(lane->first.uid, user_weight);
    }
    const JobId job = lane->second.begin()->second;
    heads.push_back({.score = score(places_.at(job), now_s, user_weight),
                     .job = job,
                     .weight = user_weight,
                     .at = lane->second.begin(),
                     .end = lane->second.end()});
  }
  std::make_heap(heads.begin(), heads.end());
  while (!heads.empty() && jobs.size() < most) {
    std::pop_heap(heads.begin(), heads.end());
    Head& head = heads.back();
    jobs.push_back(head.job);
    if (++head.at == head.end) {
      heads.pop_back();
      continue;
    }
    head.job = head.at->second;
    head.score = score(places_.at(head.job), now_s, head.weight);
    std::push_heap(heads.begin(), heads.end());
  }
}

std::vector<JobId> WaitingLine::sorted(std::size_t most, double now_s, const UserWeight& weight) {
  std::vector<JobId> jobs;
  sorted_weights_.clear();
  jobs.reserve(std::min(most, places_.size()));
  for (auto lane = lanes_.begin(); lane != lanes_.end() && jobs.size() < most;) {
    const auto last = std::find_if(lane, lanes_.end(), [&](const auto& other) {
      return other.first.rank != lane->first.rank;
    });
    add_rank(lane, last, most, now_s, weight, jobs);
    lane = last;
  }
  return jobs;
}

WaitingLine::Front WaitingLine::front(std::size_t most, double now_s, const UserWeight& weight) {
  Front front;
  for (auto at = patience_ends_.begin(); others_left_ == 0 && at != patience_ends_.end() &&
                                         at->first <= now_s && front.impatient.size() < kMostTried;
       ++at) {
    front.impatient.push_back(at->second);
  }
  std::erase_if(sorted_, [&](JobId job) { return !places_.contains(job); });
  if (sorted_.size() < most || now_s - sorted_s_ > kSortedFor) {
    const bool is_long = places_.size() > kLongLine * most;
    sorted_ = sorted(is_long ? 2 * most : most, now_s, weight);
    sorted_s_ = now_s;
    if (!sorted_.empty()) {
      const Place& last = places_.at(sorted_.back());
      last_rank_ = last.lane->first.rank;
      last_score_ = score(last, now_s, weight(last.lane->first.uid));
    }
    if (!is_long) {
      front.jobs = std::exchange(sorted_, {});
      return front;
    }
  }
  const auto end = sorted_.begin() + static_cast<std::ptrdiff_t>(std::min(most, sorted_.size()));
  front.jobs.assign(sorted_.begin(), end);
  return front;
}

WaitingLine::Ahead WaitingLine::ahead_of(const Waiting& job,
                                         std::size_t most,
                                         double now_s,
                                         const UserWeight& weight) const {
  // As ranks go, then by falling score, then by id.
  using Key = std::tuple<Rank, double, JobId>;
  const auto weight_of = [&](std::uint32_t uid) {
    return order_ == QueueOrder::Fair ? weight(uid) : 1.0;
  };
  const double runtime = std::max(job.expected_s, kShortestRun);
  const LaneKey own = lane_of(job, runtime);
  const Place place{.lane = {}, .runtime_s = runtime, .since_s = job.since_s};
  const Key key(own.rank, -score(place, now_s, weight_of(job.uid)), job.job);
  std::vector<Key> before;
  for (const auto& [lane, jobs] : lanes_) {
    const double user_weight = weight_of(lane.uid);
    for (const auto& [order, other] : jobs) {
      const Key its(lane.rank, -score(places_.at(other), now_s, user_weight), other);
      if (its >= key) {
        break;  // so do those behind it
      }
      before.push_back(its);
    }
  }
  Ahead ahead{.count = before.size()};
  const auto end = before.begin() + static_cast<std::ptrdiff_t>(std::min(most, before.size()));
  std::ranges::partial_sort(before, end);
  std::transform(before.begin(), end, std::back_inserter(ahead.first), [](const Key& each) {
    return std::get<JobId>(each);
  });
  return ahead;
}

std::optional<double> WaitingLine::next_impatient_s(double now_s) const {
  const auto next = patience_ends_.upper_bound({now_s, std::numeric_limits<JobId>::max()});
  return next == patience_ends_.end() ? std::nullopt : std::optional(next->first);
}

}  // namespace carpool::schedule
