#include "measure/member_hosts.hpp"

#include <algorithm>
#include <iterator>

namespace carpool::measure {

void MemberHosts::put(std::span<const Member> members, const std::shared_ptr<Host>& host) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    placed_[members[i]] = {.host = host, .slot = i};
  }
}

void MemberHosts::remove(const Hosts& hosts) {
  std::erase_if(placed_, [&](const auto& entry) { return hosts.contains(entry.second.host); });
}

std::vector<Member> MemberHosts::members() const {
  std::vector<Member> all;
  all.reserve(placed_.size());
  for (const auto& [member, placed] : placed_) {
    all.push_back(member);
  }
  return all;
}

std::shared_ptr<Host> MemberHosts::find(const Member& member) const {
  const auto found = placed_.find(member);
  return found == placed_.end() ? nullptr : found->second.host;
}

Hosts MemberHosts::holding(const std::function<bool(const Member&)>& wanted) const {
  Hosts hosts;
  for (const auto& [member, placed] : placed_) {
    if (wanted(member)) {
      hosts.insert(placed.host);
    }
  }
  return hosts;
}

std::shared_ptr<profile::StepFile> MemberHosts::step_file(const Member& member) const {
  const Placed& placed = placed_.at(member);
  return {placed.host, &placed.host->slots()[placed.slot]};
}

pid_t MemberHosts::pid_of(const Member& member) const {
  const Placed& placed = placed_.at(member);
  return placed.host->pid_of(placed.slot);
}

std::vector<Member> MemberHosts::missing(std::span<const Member> members) const {
  std::vector<Member> out;
  std::ranges::copy_if(
      members, std::back_inserter(out), [this](const Member& member) { return !contains(member); });
  return out;
}

bool MemberHosts::all_held(std::span<const Member> members) const {
  return std::ranges::all_of(members, [this](const Member& member) {
    const auto host = find(member);
    return host && host->all_held();
  });
}

bool MemberHosts::in_one_process(std::span<const Member> members) const {
  Hosts hosts;
  for (const Member& member : members) {
    hosts.insert(find(member));
  }
  return hosts.size() == 1 && !hosts.contains(nullptr);
}

}  // namespace carpool::measure
