// Which clients of a GPU have an SLO: a bit of the shared state for each, so that others need one
// look where there are none.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/gate/work.hpp"
#include "interpose/state/client.hpp"

namespace carpool::interpose {

// Sets the bit of this client. Others remove that of a client that has ended, and may do so while
// its slot is taken again: so it is shown with every request.
void show_slo_presence(Client& client);

// Looks for SLO clients that have ended, once a second at most: their bit is removed. Where one
// shows no life, best-effort processes free the slots of processes that were killed.
class EndedSloClients {
 public:
  void look(Client& client, gate::Nanoseconds now);

 private:
  std::atomic<gate::Nanoseconds> looked_{0};
};

}  // namespace carpool::interpose
