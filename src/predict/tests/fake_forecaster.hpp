// A forecaster with five numbers per workload, for tests of the code that uses forecasts:
//   T_i = exp(capacity_i) s(l_i) / (1 + sum_{j != i} a_j / (a_i exp(light_i))),
//   a_i = exp(pressure_i) s(l_i),  s(l) = (1 - exp(-need_i l/100)) / (1 - exp(-need_i)),
// so the solo speed with all threads is exp(capacity), the heavier pressure takes the larger
// share, a light one hardly slows down, and a limit lowers both speed and pressure.
#pragma once

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "model/throughput_model.hpp"
#include "predict/predictor.hpp"

namespace carpool::predict::fake {

struct FakeWorkload {
  double capacity = 0.0;
  double pressure = 0.0;
  double light = 0.0;
  double need = 3.0;  // how soon more threads stop helping
  bool extrapolated = false;
  bool no_number = false;  // beside others its forecast is NaN
};

enum class FakeAnswers { Members, SumOnly, OrderOnly };

class FakeForecaster final : public model::Forecaster {
 public:
  explicit FakeForecaster(std::vector<FakeWorkload> workloads,
                          FakeAnswers answers = FakeAnswers::Members)
      : workloads_(std::move(workloads)), answers_(answers) {}

  [[nodiscard]] std::vector<GroupForecast> forecast(std::span<const Group> candidates,
                                                    model::ForecastDetail detail) const override {
    groups_asked_ += candidates.size();
    std::vector<GroupForecast> forecasts;
    forecasts.reserve(candidates.size());
    for (const Group& group : candidates) {
      forecasts.push_back(forecast_one(group, detail));
    }
    return forecasts;
  }

  [[nodiscard]] std::size_t groups_asked() const { return groups_asked_; }

 private:
  [[nodiscard]] double scale(const GroupMember& member) const {
    const double need = workloads_[member.profile].need;
    return std::expm1(-need * member.thread_limit / kAllThreads) / std::expm1(-need);
  }

  [[nodiscard]] GroupForecast forecast_one(const Group& group, model::ForecastDetail detail) const {
    double total = 0.0;  // of all a_j
    for (const GroupMember& member : group) {
      total += std::exp(workloads_[member.profile].pressure) * scale(member);
    }
    GroupForecast forecast;
    forecast.members.reserve(group.size());
    for (const GroupMember& member : group) {
      const FakeWorkload& workload = workloads_[member.profile];
      const double own = std::exp(workload.pressure) * scale(member);
      const bool no_number = workload.no_number && group.size() > 1;
      const double rate = no_number ? std::nan("")
                                    : std::exp(workload.capacity) * scale(member) /
                                          (1.0 + (total - own) / (own * std::exp(workload.light)));
      forecast.preference += rate;
      MemberForecast& member_forecast = forecast.members.emplace_back();
      member_forecast.throughput = rate;
      member_forecast.extrapolated = workload.extrapolated;
      if (detail == model::ForecastDetail::WithIntervals) {
        member_forecast.interval90 = Interval{0.8 * rate, 1.25 * rate};
      }
    }
    if (answers_ != FakeAnswers::OrderOnly) {
      forecast.sum = forecast.preference;
    }
    if (detail == model::ForecastDetail::WithIntervals && forecast.sum) {
      forecast.sum_interval90 = Interval{0.8 * *forecast.sum, 1.25 * *forecast.sum};
    }
    if (answers_ != FakeAnswers::Members) {
      forecast.members.clear();
    }
    return forecast;
  }

  std::vector<FakeWorkload> workloads_;
  FakeAnswers answers_;
  mutable std::atomic<std::size_t> groups_asked_ = 0;
};

// Profiles, forecaster and predictor that belong together. The profiles are named w0, w1, …
class FakeWorld {
 public:
  explicit FakeWorld(const std::vector<FakeWorkload>& workloads,
                     FakeAnswers answers = FakeAnswers::Members) {
    for (std::size_t i = 0; i < workloads.size(); ++i) {
      Profile& profile = profiles_.emplace_back();
      profile.workload = "w" + std::to_string(i);
      profile.exclusive_throughput = std::exp(workloads[i].capacity);
    }
    auto forecaster = std::make_unique<FakeForecaster>(workloads, answers);
    forecaster_ = forecaster.get();
    predictor_ =
        std::make_unique<Predictor>(Predictor::create(std::move(forecaster), profiles_).value());
  }
  FakeWorld(const FakeWorld&) = delete;
  FakeWorld& operator=(const FakeWorld&) = delete;

  // Only before use: the predictor refers to the profiles.
  FakeWorld& memory_gib(std::size_t profile, double gib) {
    profiles_[profile].metrics["memcap_gb"] = gib;
    return *this;
  }

  [[nodiscard]] const Predictor& predictor() const { return *predictor_; }
  [[nodiscard]] const FakeForecaster& forecaster() const { return *forecaster_; }

 private:
  std::vector<Profile> profiles_;
  const FakeForecaster* forecaster_ = nullptr;
  std::unique_ptr<Predictor> predictor_;
};

// Workloads like those of the public measurements: capacities over two orders of magnitude, some
// light and some heavy.
inline std::vector<FakeWorkload> random_workloads(std::size_t count, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<FakeWorkload> workloads(count);
  for (FakeWorkload& workload : workloads) {
    workload.capacity = 4.0 + normal(engine);
    workload.pressure = normal(engine);
    workload.light = 0.3 + 0.5 * normal(engine);
    workload.need = 1.0 + 4.0 * std::abs(normal(engine));
  }
  return workloads;
}

}  // namespace carpool::predict::fake
