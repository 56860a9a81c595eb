// Which seats could not be started, and whether another attempt is worth it. Internal to measure/.
#pragma once

#include <map>
#include <optional>
#include <span>

#include "measure/cells.hpp"
#include "measure/failure.hpp"

namespace carpool::measure {

class StartTroubles {
 public:
  // in_company: others were there, so that a lack of memory is not the seat's own trouble.
  void remember(const Seat& seat, Failure failure, bool in_company);
  void forget(const Seat& seat) { troubles_.erase(seat); }

  [[nodiscard]] std::optional<Failure> last(std::span<const Seat> seats) const;

  // It has failed twice in a row by itself.
  [[nodiscard]] bool hopeless(const Seat& seat) const;

 private:
  struct Trouble {
    Failure last;
    int times = 0;
  };
  std::map<Seat, Trouble> troubles_;
};

}  // namespace carpool::measure
