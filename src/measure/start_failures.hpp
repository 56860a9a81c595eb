// Members that failed to start, and whether to try them again. Internal to measure/.
#pragma once

#include <map>
#include <optional>
#include <span>

#include "measure/cells.hpp"
#include "measure/failure.hpp"

namespace carpool::measure {

class StartFailures {
 public:
  // With `beside_others` an out-of-memory failure does not count: other workers held memory.
  void record(const Member& member, Failure failure, bool beside_others);
  void forget(const Member& member) { failures_.erase(member); }

  [[nodiscard]] std::optional<Failure> last(std::span<const Member> members) const;

  // Two failures in a row count: it is not started again.
  [[nodiscard]] bool given_up(const Member& member) const;

 private:
  struct Record {
    Failure last;
    int count = 0;
  };
  std::map<Member, Record> failures_;
};

}  // namespace carpool::measure
