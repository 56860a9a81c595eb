#include "schedule/runs/trouble_pauses.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

#include <fmt/format.h>

namespace carpool::schedule {
namespace {

constexpr double kFirstPause = 1.0;
// Most trouble ends within minutes: until then it is noticed within this time that it is over.
constexpr double kLongestPause = 8.0;
constexpr double kLasting = 600.0;
constexpr double kLongestLastingPause = 60.0;
// An attempt may end in trouble right after its supervisor is seen.
constexpr double kRunsFor = 0.5;
// A trial that neither runs nor ends: another attempt tries.
constexpr double kLongestTrial = 60.0;
// Trouble that comes back within this time is the same.
constexpr double kRemembered = 60.0;

std::vector<TroublePlace> places_of(const AttemptPlaces& attempt, TroubleScope scope) {
  switch (scope) {
    case TroubleScope::Job:
      return {{scope, attempt.run.job}};
    case TroubleScope::User:
      return {{scope, attempt.uid}};
    case TroubleScope::Machine:
      return {{scope, 0}};
    case TroubleScope::Gpus:
      break;
  }
  std::vector<TroublePlace> places;
  places.reserve(attempt.gpus.size());
  for (const unsigned gpu : attempt.gpus) {
    places.push_back({scope, gpu});
  }
  return places;
}

void pause_again(Trouble& trouble, double pause_s, double now_s) {
  trouble.pause_s = pause_s;
  trouble.until_s = now_s + pause_s;
  trouble.trial = {};
  trouble.over = false;
}

double longer(const Trouble& trouble, double now_s) {
  const double most = now_s - trouble.since_s < kLasting ? kLongestPause : kLongestLastingPause;
  return std::min(2.0 * trouble.pause_s, most);
}

bool closed(const Trouble& trouble, double now_s) {
  return now_s < trouble.until_s || (trouble.trial.job != 0 && !trouble.over);
}

// What could not be started, for one who waits.
std::string_view words_of(TroubleScope scope) {
  switch (scope) {
    case TroubleScope::Job:
      return "the machine could not start it";
    case TroubleScope::User:
      return "the machine could not start a job of this user";
    case TroubleScope::Machine:
      return "the machine could not start a job";
    case TroubleScope::Gpus:
      break;
  }
  return "a job could not be started on it";
}

}  // namespace

bool TroublePauses::any_of(TroubleScope scope) const {
  return std::ranges::any_of(troubles_,
                             [&](const auto& entry) { return entry.first.scope == scope; });
}

void TroublePauses::started(const AttemptPlaces& attempt, double now_s) {
  if (troubles_.empty()) {
    return;
  }
  for (const TroubleScope scope :
       {TroubleScope::Job, TroubleScope::User, TroubleScope::Gpus, TroubleScope::Machine}) {
    for (const TroublePlace& place : places_of(attempt, scope)) {
      const auto found = troubles_.find(place);
      if (found != troubles_.end() && found->second.trial.job == 0) {
        found->second.trial = attempt.run;
        found->second.trial_s = now_s;
      }
    }
  }
}

void TroublePauses::failed(const AttemptPlaces& attempt,
                           TroubleScope scope,
                           const std::string& why,
                           double now_s) {
  for (const TroublePlace& place : places_of(attempt, scope)) {
    const auto [entry, first] = troubles_.try_emplace(place);
    Trouble& trouble = entry->second;
    trouble.why = why;
    ++trouble.attempts;
    if (first) {
      trouble.since_s = now_s;
      const auto past = past_.find(place);
      trouble.pause_s = past == past_.end() ? kFirstPause / 2.0 : past->second.pause_s;
      pause_again(trouble, longer(trouble, now_s), now_s);
    } else if (trouble.trial == attempt.run || now_s >= trouble.until_s) {
      pause_again(trouble, longer(trouble, now_s), now_s);
    }  // else it had started before the pause
  }
  // Trouble of one kind says nothing about another.
  for (auto& [place, trouble] : troubles_) {
    if (trouble.trial == attempt.run) {
      pause_again(trouble, trouble.pause_s, now_s);
    }
  }
}

void TroublePauses::began(RunId run, double now_s) {
  for (auto& [place, trouble] : troubles_) {
    if (trouble.trial == run && !trouble.over) {
      trouble.over = true;
      trouble.until_s = now_s + kRunsFor;
    }
  }
}

template <class Over>
void TroublePauses::forget(double now_s, const Over& over) {
  for (auto entry = troubles_.begin(); entry != troubles_.end();) {
    if (over(entry->second)) {
      past_.insert_or_assign(entry->first, Past{.pause_s = entry->second.pause_s, .over_s = now_s});
      entry = troubles_.erase(entry);
    } else {
      ++entry;
    }
  }
}

void TroublePauses::ended(RunId run, double now_s) {
  forget(now_s, [&](const Trouble& trouble) { return trouble.trial == run; });
}

void TroublePauses::given_up(RunId run, double now_s) {
  for (auto& [place, trouble] : troubles_) {
    if (trouble.trial == run && !trouble.over) {
      trouble.trial = {};
      trouble.until_s = std::min(trouble.until_s, now_s);
    }
  }
}

void TroublePauses::tidy(double now_s, const std::function<bool(const TroublePlace&)>& concerns) {
  forget(now_s, [&](const Trouble& trouble) { return trouble.over && now_s >= trouble.until_s; });
  std::erase_if(troubles_, [&](const auto& entry) { return !concerns(entry.first); });
  std::erase_if(past_,
                [&](const auto& entry) { return now_s > entry.second.over_s + kRemembered; });
  for (auto& [place, trouble] : troubles_) {
    if (trouble.trial.job != 0 && !trouble.over && now_s >= trouble.trial_s + kLongestTrial) {
      trouble.trial = {};
    }
  }
}

std::string TroublePauses::why_closed(const TroublePlace& place, double now_s) const {
  const auto found = troubles_.find(place);
  if (found == troubles_.end() || !closed(found->second, now_s)) {
    return {};
  }
  const Trouble& trouble = found->second;
  const bool gpu = place.scope == TroubleScope::Gpus;
  const std::string_view what = words_of(place.scope);
  if (trouble.trial.job != 0) {
    return fmt::format("{} until job {} has started, since {}: {}",
                       gpu ? "set aside" : "waiting",
                       trouble.trial.job,
                       what,
                       trouble.why);
  }
  return gpu ? fmt::format("set aside for {:g} s: {}", trouble.pause_s, trouble.why)
             : fmt::format("waiting {:g} s because {}: {}", trouble.pause_s, what, trouble.why);
}

std::string TroublePauses::why_closed(JobId job, std::uint32_t uid, double now_s) const {
  for (const TroublePlace& place : {TroublePlace{TroubleScope::Machine, 0},
                                    TroublePlace{TroubleScope::User, uid},
                                    TroublePlace{TroubleScope::Job, job}}) {
    if (std::string why = why_closed(place, now_s); !why.empty()) {
      return why;
    }
  }
  return {};
}

std::optional<double> TroublePauses::next_s(double after_s) const {
  double next = std::numeric_limits<double>::infinity();
  for (const auto& [place, trouble] : troubles_) {
    if (trouble.until_s > after_s) {
      next = std::min(next, trouble.until_s);
    } else if (trouble.trial.job != 0 && trouble.trial_s + kLongestTrial > after_s) {
      next = std::min(next, trouble.trial_s + kLongestTrial);
    }
  }
  return next < std::numeric_limits<double>::infinity() ? std::optional(next) : std::nullopt;
}

}  // namespace carpool::schedule
