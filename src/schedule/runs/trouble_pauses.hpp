// Where the machine could not start attempts, and how long nothing starts there. After each pause
// one attempt tries; the others follow once it runs.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/run.hpp"

namespace carpool::schedule {

struct TroublePlace {
  TroubleScope scope = TroubleScope::Machine;
  std::int64_t which = 0;  // job, uid or GPU; 0 for the machine
  auto operator<=>(const TroublePlace&) const = default;
};

struct Trouble {
  std::string why{};      // of the last attempt
  unsigned attempts = 0;  // that could not start here, since it began
  double since_s = 0.0;
  double pause_s = 0.0;
  double until_s = 0.0;  // end of the pause
  RunId trial{};         // the attempt that tries after the pause; job 0: none
  double trial_s = 0.0;  // when it started
  bool over = false;     // the trial runs: forgotten at until_s
};

// An attempt that starts, and where.
struct AttemptPlaces {
  RunId run{};
  std::uint32_t uid = 0;
  std::span<const unsigned> gpus{};
};

class TroublePauses {
 public:
  [[nodiscard]] bool empty() const { return troubles_.empty(); }
  [[nodiscard]] const std::map<TroublePlace, Trouble>& all() const { return troubles_; }
  [[nodiscard]] bool any_of(TroubleScope scope) const;

  // The attempt starts. Where a pause is over, it is the trial.
  void started(const AttemptPlaces& attempt, double now_s);
  // The machine could not start it.
  void failed(const AttemptPlaces& attempt,
              TroubleScope scope,
              const std::string& why,
              double now_s);
  // Its processes run.
  void began(RunId run, double now_s);
  // It ended by itself, or because of what the job is: the machine could start it.
  void ended(RunId run, double now_s);
  // It ended before it could show whether the machine can start it.
  void given_up(RunId run, double now_s);

  // Forgets what is over and trials that say nothing, and what no job waits for, by `concerns`.
  void tidy(double now_s, const std::function<bool(const TroublePlace&)>& concerns);

  // Why nothing may start there now; empty: an attempt may.
  [[nodiscard]] std::string why_closed(const TroublePlace& place, double now_s) const;
  // The same for a job, on whatever GPUs.
  [[nodiscard]] std::string why_closed(JobId job, std::uint32_t uid, double now_s) const;

  // When, after `after_s`, time alone lets an attempt start.
  [[nodiscard]] std::optional<double> next_s(double after_s) const;

 private:
  // What was over a moment ago: trouble that comes and goes has growing pauses, too.
  struct Past {
    double pause_s = 0.0;
    double over_s = 0.0;
  };
  template <class Over>
  void forget(double now_s, const Over& over);

  std::map<TroublePlace, Trouble> troubles_;
  std::map<TroublePlace, Past> past_;
};

}  // namespace carpool::schedule
