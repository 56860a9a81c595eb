#include "serve/usage/usage_table.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "serve/job_view.hpp"

namespace carpool::serve {
namespace {

using nlohmann::json;

// Share of its solo speed: believed at its end, else predicted at its start. A job that does not
// share its GPUs runs at solo speed.
std::optional<double> speed_of(const JobAttempt& attempt) {
  if (attempt.progress || attempt.start.predicted_progress) {
    return attempt.progress ? attempt.progress : attempt.start.predicted_progress;
  }
  return attempt.start.mechanism == ShareMechanism::None ? std::optional(1.0) : std::nullopt;
}

json sums_of(const UsageAmounts& amounts) {
  return {{"jobs", amounts.jobs}, {"attempts", amounts.attempts}, {"gpu_held_s", amounts.held_s}};
}

json amounts_view(const UsageAmounts& amounts) {
  json view = sums_of(amounts);
  view["gpu_delivered_s"] = amounts.delivered_s;
  view["gpu_unknown_s"] = amounts.unknown_s;
  view["reserved_byte_s"] = amounts.reserved_byte_s;
  if (amounts.peak_bytes) {
    view["peak_bytes"] = *amounts.peak_bytes;
  }
  if (amounts.energy_joules) {
    view["energy_j"] = *amounts.energy_joules;
    view["energy_unknown_s"] = amounts.energy_unknown_s;
  }
  return view;
}

}  // namespace

void UsageAmounts::add(const UsageAmounts& more) {
  jobs += more.jobs;
  attempts += more.attempts;
  held_s += more.held_s;
  delivered_s += more.delivered_s;
  unknown_s += more.unknown_s;
  reserved_byte_s += more.reserved_byte_s;
  peak_bytes = std::max(peak_bytes, more.peak_bytes);  // an unknown one is the lowest
  energy_unknown_s += more.energy_unknown_s;
  add_energy(more.energy_joules, 1.0, 0.0);
}

void UsageAmounts::add_energy(const std::optional<double>& joules, double part, double gpu_s) {
  if (joules) {
    energy_joules = energy_joules.value_or(0.0) + *joules * part;
  } else {
    energy_unknown_s += gpu_s;
  }
}

UsageAmounts usage_of(const JobRecord& job, const UsageSpan& span, const RunningUsage& running) {
  UsageAmounts amounts;
  for (const JobAttempt& attempt : job.attempts) {
    const double end_s = std::min(attempt.ended_s.value_or(span.until_s), span.until_s);
    const double within_s = end_s - std::max(attempt.started_s, span.from_s);
    if (within_s < 0.0 || end_s < span.from_s) {
      continue;
    }
    const auto gpus = static_cast<double>(attempt.start.gpus.size());
    const double whole_s = end_s - attempt.started_s;
    // Pauses count evenly over the attempt: when they were is not kept.
    const double ran = whole_s > 0.0 ? attempt.ran_s(span.until_s) / whole_s : 0.0;
    const double held_s = within_s * gpus;
    amounts.jobs = 1;
    ++amounts.attempts;
    amounts.held_s += held_s;
    amounts.reserved_byte_s += held_s * static_cast<double>(attempt.start.reserved_bytes);
    if (const std::optional<double> speed = speed_of(attempt)) {
      amounts.delivered_s += held_s * std::min(ran, 1.0) * *speed;
    } else {
      amounts.unknown_s += held_s;
    }
    amounts.peak_bytes =
        std::max(amounts.peak_bytes, attempt.ended_s ? attempt.peak_bytes : running.peak_bytes);
    const auto joules = attempt.ended_s ? attempt.energy_joules : running.energy_joules;
    // Energy counts evenly over the attempt, too.
    amounts.add_energy(joules, whole_s > 0.0 ? within_s / whole_s : 1.0, held_s);
  }
  return amounts;
}

void UsageTable::add(const JobRecord& job, const UsageAmounts& amounts) {
  if (amounts.attempts == 0) {
    return;
  }
  total_.add(amounts);
  if (!caller_.may_touch(job.owner)) {
    other_users_.insert(job.owner.uid);
    others_.add(amounts);
    return;
  }
  if (by_ == UsageBy::User) {
    Row& row = users_[job.owner.uid];
    row.user = job.owner.user;
    row.amounts.add(amounts);
    return;
  }
  jobs_.push_back(
      {.job = job.id, .user = job.owner.user, .name = shown_name(job), .amounts = amounts});
  if (jobs_.size() >= 2 * kMostRows) {
    keep_largest();
  }
}

void UsageTable::keep_largest() {
  std::ranges::sort(jobs_,
                    [](const Row& a, const Row& b) { return a.amounts.held_s > b.amounts.held_s; });
  for (; jobs_.size() > kMostRows; jobs_.pop_back()) {
    left_out_.add(jobs_.back().amounts);
    ++left_out_rows_;
  }
}

json UsageTable::view() {
  for (auto& [uid, row] : users_) {
    jobs_.push_back(std::move(row));
  }
  users_.clear();
  keep_largest();
  json rows = json::array();
  for (const Row& row : jobs_) {
    json view = amounts_view(row.amounts);
    view["user"] = row.user;
    if (row.job != 0) {
      view["id"] = row.job;
      view["name"] = row.name;
    }
    rows.push_back(std::move(view));
  }
  json table = {{"rows", std::move(rows)}, {"total", sums_of(total_)}};
  if (!other_users_.empty()) {
    table["others"] = sums_of(others_);
    table["others"]["users"] = other_users_.size();
  }
  if (left_out_rows_ > 0) {
    table["left_out"] = amounts_view(left_out_);
    table["left_out"]["rows"] = left_out_rows_;
  }
  return table;
}

}  // namespace carpool::serve
