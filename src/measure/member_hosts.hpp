// Which worker process runs which member. Internal to measure/.
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

// Used by one thread at a time. A host ends when its last member is removed and no step file of it
// is in use.
class MemberHosts {
 public:
  // The host's slots belong to these members, in order.
  void put(std::span<const Member> members, const std::shared_ptr<Host>& host);
  void remove(const Member& member) { placed_.erase(member); }
  // Removes all members of these hosts.
  void remove(const Hosts& hosts);

  [[nodiscard]] bool empty() const { return placed_.empty(); }
  [[nodiscard]] std::size_t size() const { return placed_.size(); }  // members
  [[nodiscard]] bool contains(const Member& member) const { return placed_.contains(member); }
  [[nodiscard]] std::vector<Member> members() const;

  // Null where no host runs the member.
  [[nodiscard]] std::shared_ptr<Host> find(const Member& member) const;
  [[nodiscard]] Hosts holding(const std::function<bool(const Member&)>& wanted) const;

  // The member must have a host. The step file keeps the host alive.
  [[nodiscard]] std::shared_ptr<profile::StepFile> step_file(const Member& member) const;
  [[nodiscard]] pid_t pid_of(const Member& member) const;

  [[nodiscard]] std::vector<Member> missing(std::span<const Member> members) const;
  // Each of these members has a host that is warm and held.
  [[nodiscard]] bool all_held(std::span<const Member> members) const;
  [[nodiscard]] bool in_one_process(std::span<const Member> members) const;

 private:
  struct Placed {
    std::shared_ptr<Host> host;
    std::size_t slot = 0;
  };

  std::map<Member, Placed> placed_;
};

}  // namespace carpool::measure
