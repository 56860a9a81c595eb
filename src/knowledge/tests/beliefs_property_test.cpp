// What holds of beliefs whatever was seen.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/files/file.hpp"
#include "knowledge/beliefs.hpp"
#include "knowledge/tests/watched_group.hpp"

namespace carpool::knowledge {
namespace {

std::string any_workload(unsigned users) {
  return scoped_workload(*rc::gen::inRange(1U, users + 1),
                         "w" + std::to_string(*rc::gen::inRange(0, 6)));
}

std::vector<InterferenceMember> any_group(unsigned users, std::size_t most) {
  std::vector<InterferenceMember> group;
  const auto size = *rc::gen::inRange<std::size_t>(1, most + 1);
  group.reserve(size);
  for (std::size_t i = 0; i < size; ++i) {
    group.push_back({.workload = any_workload(users)});
  }
  return group;
}

// Mostly sensible, sometimes absurd.
double any_number(double usual) {
  switch (*rc::gen::inRange(0, 12)) {
    case 0:
      return 0.0;
    case 1:
      return -1.0;
    case 2:
      return std::numeric_limits<double>::quiet_NaN();
    case 3:
      return std::numeric_limits<double>::infinity();
    case 4:
      return 1e30;
    default:
      return usual * 0.01 * *rc::gen::inRange(1, 101);
  }
}

// Groups of one user for some seconds each.
void teach(Beliefs& beliefs, unsigned user, double& now_s, int changes) {
  for (int change = 0; change < changes; ++change) {
    fake::Watch told{.from_s = now_s, .for_s = 6.0};
    const auto size = *rc::gen::inRange(1, 5);
    for (int i = 0; i < size; ++i) {
      told.workloads.push_back(
          scoped_workload(user, "w" + std::to_string(*rc::gen::inRange(0, 6))));
    }
    const double sample = any_number(1.0);
    const double rate = any_number(100.0);
    told.sm_active = [sample] { return sample; };
    told.rate = [rate](std::size_t i) { return rate / static_cast<double>(1 + i); };
    told.foreign = *rc::gen::inRange(0, 10) == 0;
    now_s = fake::watch(beliefs, told);
    beliefs.ended({.at_s = now_s,
                   .workload = told.workloads.front(),
                   .ran_s = any_number(100.0),
                   .starting_s = any_number(10.0),
                   .progress = any_number(1.0)});
  }
}

RC_GTEST_PROP(BeliefsProperty, ProgressIsAShareAndSoloIsOne, ()) {
  Beliefs beliefs;
  double now_s = 0.0;
  teach(beliefs, 1, now_s, *rc::gen::inRange(0, 12));
  for (int n = 0; n < 5; ++n) {
    const auto group = any_group(2, 8);
    const auto shares = beliefs.progress(group);
    const auto forecasts = beliefs.forecast(group);
    RC_ASSERT(shares.size() == group.size());
    for (std::size_t i = 0; i < group.size(); ++i) {
      RC_ASSERT(shares[i] > 0.0 && shares[i] <= 1.0);
      RC_ASSERT(group.size() > 1 || shares[i] == 1.0);
      RC_ASSERT(std::abs(forecasts[i].progress - shares[i]) < 1e-9);
      RC_ASSERT(forecasts[i].interval90.low <= shares[i] * (1.0 + 1e-9));
      RC_ASSERT(forecasts[i].interval90.high >= shares[i] * (1.0 - 1e-9));
      RC_ASSERT(forecasts[i].interval90.low > 0.0 && forecasts[i].interval90.high <= 1.0);
    }
  }
}

RC_GTEST_PROP(BeliefsProperty, ANewMemberSpeedsNoneUpByTheLaw, ()) {
  Beliefs beliefs;
  double now_s = 0.0;
  // Activities only: what a very group measured may say otherwise.
  for (int n = 0; n < *rc::gen::inRange(0, 8); ++n) {
    const double sample = 0.01 * *rc::gen::inRange(0, 101);
    now_s = fake::watch(
        beliefs,
        {.workloads = {any_workload(1)}, .from_s = now_s, .for_s = 8.0, .sm_active = [sample] {
           return sample;
         }});
  }
  auto group = any_group(1, 8);
  const auto before = beliefs.progress(group);
  group.push_back({.workload = any_workload(1)});
  const auto after = beliefs.progress(group);
  for (std::size_t i = 0; i < before.size(); ++i) {
    RC_ASSERT(after[i] <= before[i]);
  }
}

RC_GTEST_PROP(BeliefsProperty, TheOrderOfMembersDoesNotMatter, ()) {
  Beliefs beliefs;
  double now_s = 0.0;
  teach(beliefs, 1, now_s, *rc::gen::inRange(0, 12));
  auto group = any_group(2, 6);
  const auto shares = beliefs.progress(group);
  std::ranges::reverse(group);
  const auto turned = beliefs.progress(group);
  for (std::size_t i = 0; i < group.size(); ++i) {
    RC_ASSERT(std::abs(turned[group.size() - 1 - i] - shares[i]) < 1e-9);
  }
}

RC_GTEST_PROP(BeliefsProperty, AFileKeepsEverything, ()) {
  std::string folder = (std::filesystem::temp_directory_path() / "carpool-XXXXXX").string();
  RC_ASSERT(::mkdtemp(folder.data()) != nullptr);
  const std::filesystem::path file = std::filesystem::path(folder) / "beliefs.json";
  Beliefs beliefs;
  double now_s = 0.0;
  teach(beliefs, 1, now_s, *rc::gen::inRange(0, 8));
  teach(beliefs, 2, now_s, *rc::gen::inRange(0, 8));
  teach(beliefs, 1, now_s, *rc::gen::inRange(0, 3));
  RC_ASSERT(beliefs.save(file).has_value());
  const std::string first = *read_file(file);
  const auto opened = Beliefs::open(file, {});
  RC_ASSERT(opened.has_value());
  RC_ASSERT((*opened)->save(file).has_value());
  RC_ASSERT(*read_file(file) == first);
  for (int n = 0; n < 5; ++n) {
    const auto group = any_group(2, 5);
    RC_ASSERT((*opened)->progress(group) == beliefs.progress(group));
  }
  std::filesystem::remove_all(folder);
}

RC_GTEST_PROP(BeliefsProperty, OtherUsersChangeNothing, ()) {
  Beliefs beliefs;
  double now_s = 0.0;
  teach(beliefs, 1, now_s, *rc::gen::inRange(0, 8));
  const auto group = any_group(1, 6);
  const auto shares = beliefs.progress(group);
  const auto rows = beliefs.rows();
  teach(beliefs, 2, now_s, *rc::gen::inRange(1, 8));
  RC_ASSERT(beliefs.progress(group) == shares);
  for (const auto& row : rows) {
    const auto belief = beliefs.belief(row.workload);
    RC_ASSERT(belief.has_value());
    RC_ASSERT(belief->sm_active == row.belief.sm_active);
    RC_ASSERT(belief->solo_rate == row.belief.solo_rate);
    RC_ASSERT(belief->measured_s == row.belief.measured_s);
  }
}

}  // namespace
}  // namespace carpool::knowledge
