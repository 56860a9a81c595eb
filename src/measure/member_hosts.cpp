#include "measure/member_hosts.hpp"

#include <algorithm>
#include <iterator>

namespace carpool::measure {

void SeatHosts::put(std::span<const Seat> seats, const std::shared_ptr<Host>& host) {
  for (std::size_t i = 0; i < seats.size(); ++i) {
    placed_[seats[i]] = {.host = host, .slot = i};
  }
}

void SeatHosts::remove(const Hosts& hosts) {
  std::erase_if(placed_, [&](const auto& entry) { return hosts.contains(entry.second.host); });
}

std::vector<Seat> SeatHosts::seats() const {
  std::vector<Seat> all;
  all.reserve(placed_.size());
  for (const auto& [seat, placed] : placed_) {
    all.push_back(seat);
  }
  return all;
}

std::shared_ptr<Host> SeatHosts::find(const Seat& seat) const {
  const auto found = placed_.find(seat);
  return found == placed_.end() ? nullptr : found->second.host;
}

Hosts SeatHosts::holding(const std::function<bool(const Seat&)>& wanted) const {
  Hosts hosts;
  for (const auto& [seat, placed] : placed_) {
    if (wanted(seat)) {
      hosts.insert(placed.host);
    }
  }
  return hosts;
}

std::shared_ptr<profile::StepFile> SeatHosts::step_file(const Seat& seat) const {
  const Placed& placed = placed_.at(seat);
  return {placed.host, &placed.host->slots()[placed.slot]};
}

pid_t SeatHosts::pid_of(const Seat& seat) const {
  const Placed& placed = placed_.at(seat);
  return placed.host->pid_of(placed.slot);
}

std::vector<Seat> SeatHosts::missing(std::span<const Seat> seats) const {
  std::vector<Seat> out;
  std::ranges::copy_if(
      seats, std::back_inserter(out), [this](const Seat& seat) { return !contains(seat); });
  return out;
}

bool SeatHosts::all_held(std::span<const Seat> seats) const {
  return std::ranges::all_of(seats, [this](const Seat& seat) {
    const auto host = find(seat);
    return host && host->all_held();
  });
}

bool SeatHosts::in_one_process(std::span<const Seat> seats) const {
  Hosts hosts;
  for (const Seat& seat : seats) {
    hosts.insert(find(seat));
  }
  return hosts.size() == 1 && !hosts.contains(nullptr);
}

}  // namespace carpool::measure
