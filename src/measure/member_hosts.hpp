// Which process holds which seat. Internal to measure/.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "measure/cells.hpp"
#include "measure/host.hpp"

namespace carpool::measure {

// Used by one thread at a time. A host that nobody else keeps ends with its last seat.
class SeatHosts {
 public:
  // The host's slots are these seats', in order.
  void put(std::span<const Seat> seats, const std::shared_ptr<Host>& host);
  void remove(const Seat& seat) { placed_.erase(seat); }
  // All seats of these hosts.
  void remove(const Hosts& hosts);

  [[nodiscard]] bool empty() const { return placed_.empty(); }
  [[nodiscard]] std::size_t size() const { return placed_.size(); }  // seats
  [[nodiscard]] bool contains(const Seat& seat) const { return placed_.contains(seat); }
  [[nodiscard]] std::vector<Seat> seats() const;

  // Null where nobody holds the seat.
  [[nodiscard]] std::shared_ptr<Host> find(const Seat& seat) const;
  [[nodiscard]] Hosts holding(const std::function<bool(const Seat&)>& wanted) const;

  // Of a seat that somebody holds; the step file keeps the host.
  [[nodiscard]] std::shared_ptr<profile::StepFile> step_file(const Seat& seat) const;
  [[nodiscard]] pid_t pid_of(const Seat& seat) const;

  [[nodiscard]] std::vector<Seat> missing(std::span<const Seat> seats) const;
  // Every one of these seats has a host, which is warm and waits.
  [[nodiscard]] bool all_held(std::span<const Seat> seats) const;
  [[nodiscard]] bool in_one_process(std::span<const Seat> seats) const;

 private:
  struct Placed {
    std::shared_ptr<Host> host;
    std::size_t slot = 0;
  };

  std::map<Seat, Placed> placed_;
};

}  // namespace carpool::measure
