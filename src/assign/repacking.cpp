#include "assign/repacking.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "assign/random_choice.hpp"

namespace carpool::assign {
namespace {

// Items that are repacked together: 3^9 combinations take 30 microseconds.
constexpr std::size_t kRepackMembers = 9;
constexpr std::size_t kMostRepackMembers = 12;

}  // namespace

void Repacking::run() {
  const std::size_t count = std::max<std::size_t>(2, kRepackMembers / limits_.max_per_gpu);
  if (arrangement_.gpus() < 2 || count * limits_.max_per_gpu > kMostRepackMembers) {
    return;
  }
  const std::size_t patience = std::min(20 * arrangement_.gpus(), 1'000 + 5 * arrangement_.gpus());
  std::size_t quiet = 0;
  for (std::size_t step = 0; step < 8 * patience && quiet < patience; ++step) {
    if (values_.asked() > limits_.forecasts) {
      return;
    }
    quiet = repack(count) ? 0 : quiet + 1;
  }
}

bool Repacking::repack(std::size_t count) {
  std::vector<std::size_t> chosen = random_sample(engine_, arrangement_.gpus(), count);
  const std::size_t gpus = chosen.size();
  if (arrangement_.places() > arrangement_.gpus()) {
    chosen.push_back(arrangement_.gpus() +
                     random_below(engine_, arrangement_.places() - arrangement_.gpus()));
  }
  std::vector<Member> members;
  ArrangementGain before;
  for (const std::size_t where : chosen) {
    const std::span<const Member> group = arrangement_.members(where);
    members.insert(members.end(), group.begin(), group.end());
    before.worth += arrangement_.worth_now(where);
    before.placed += arrangement_.on_gpu(where) ? static_cast<int>(group.size()) : 0;
  }
  std::vector<double> worths(std::size_t{1} << members.size(), kForbidden);
  std::vector<Arrangement::Key> keys;
  std::vector<MemberSet> sets;
  for (MemberSet set = 1; set < worths.size(); ++set) {
    if (static_cast<std::size_t>(std::popcount(set)) <= limits_.max_per_gpu) {
      keys.push_back(values_.key(members, set));
      sets.push_back(set);
    }
  }
  values_.require(keys);
  for (std::size_t i = 0; i < sets.size(); ++i) {
    worths[sets[i]] = arrangement_.worth(chosen.front(), keys[i]);
  }
  const std::vector<MemberSet> groups = best_grouping(members.size(), gpus, worths);
  ArrangementGain difference{.placed = -before.placed, .worth = -before.worth};
  for (const MemberSet group : groups) {
    difference.placed += std::popcount(group);
    difference.worth += worths[group];
  }
  if (!difference.helps(before.worth)) {
    return false;
  }
  refill(chosen, members, groups);
  return true;
}

void Repacking::refill(std::span<const std::size_t> chosen,
                       std::span<const Member> members,
                       std::span<const MemberSet> groups) {
  std::ranges::for_each(members, [this](Member member) { arrangement_.take(member); });
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto group =
        std::ranges::find_if(groups, [i](MemberSet set) { return (set >> i & 1U) != 0; });
    // At most one place outside was chosen, the last, and no fewer members are placed than before.
    arrangement_.put(members[i],
                     group == groups.end()
                         ? chosen.back()
                         : chosen[static_cast<std::size_t>(group - groups.begin())]);
  }
}

}  // namespace carpool::assign
