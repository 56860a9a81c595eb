#include "interpose/state/memory_accounts.hpp"

#include <algorithm>

#include "interpose/state/process_facts.hpp"

namespace carpool::interpose {
namespace {

// PIDs of other namespaces mean nothing here.
bool is_process(const ClientReport& client, pid_t pid) {
  static const std::uint64_t own_namespace = own_pid_namespace();
  return client.pid == pid && client.pid_namespace == own_namespace && !client.orphaned;
}

const ClientReport* client_of(const StateReport& state, pid_t pid) {
  const auto found = std::ranges::find_if(
      state.clients, [&](const ClientReport& client) { return is_process(client, pid); });
  return found == state.clients.end() ? nullptr : &*found;
}

// The most that it had while the driver was asked, as far as that is known: what it allocated or
// freed meanwhile is not taken for its context.
std::uint64_t most_used(const StateReport& before, const ClientReport& client) {
  const auto earlier = std::ranges::find(before.clients, client.id, &ClientReport::id);
  return earlier == before.clients.end() ? client.used_bytes
                                         : std::max(earlier->used_bytes, client.used_bytes);
}

constexpr std::uint64_t less(std::uint64_t bytes, std::uint64_t other) {
  return bytes - std::min(bytes, other);
}

}  // namespace

std::uint64_t MemoryAccountant::least_beside(ClientId client, std::uint64_t bytes) {
  auto known = std::ranges::find(known_, client, &Known::client);
  if (known == known_.end()) {
    known_.push_back({.client = client});
    known = known_.end() - 1;
  }
  known->beside[known->count++ % kReadings] = bytes;
  const std::size_t readings = std::min(known->count, kReadings);
  return *std::min_element(known->beside.begin(),
                           known->beside.begin() + static_cast<std::ptrdiff_t>(readings));
}

MemoryAccounts MemoryAccountant::add(const StateReport& before,
                                     const std::vector<ProcessMemory>& processes,
                                     const StateReport& after) {
  std::erase_if(known_, [&](const Known& known) {
    return std::ranges::find(after.clients, known.client, &ClientReport::id) == after.clients.end();
  });
  MemoryAccounts accounts;
  std::vector<ClientId> told;
  std::uint64_t slotless_bytes = 0;
  for (const ProcessMemory& process : processes) {
    const ClientReport* const client = client_of(after, process.pid);
    if (client != nullptr) {
      if (process.bytes) {
        told.push_back(client->id);
        const std::uint64_t beside =
            least_beside(client->id, less(*process.bytes, most_used(before, *client)));
        accounts.contexts.push_back({client->id, std::min(beside, kMostContext)});
        accounts.foreign_bytes += less(beside, kMostContext);
      }
    } else if (client_of(before, process.pid) == nullptr) {  // else it has just ended
      accounts.slotless.push_back(process);
      slotless_bytes += process.bytes.value_or(0);
    }
  }
  // Clients that no process was found for are among the others, under another number: those of a
  // container, or of a process that has ended and left its memory to a child.
  std::uint64_t hidden_bytes = 0;
  for (const ClientReport& client : after.clients) {
    if (std::ranges::find(told, client.id) == told.end()) {
      hidden_bytes += most_used(before, client) + client.context_bytes;
    }
  }
  accounts.foreign_bytes += less(slotless_bytes, hidden_bytes);
  return accounts;
}

StateError write_accounts(StateReader& state, const MemoryAccounts& accounts) {
  StateError error = state.set_foreign(accounts.foreign_bytes);
  for (const MemoryAccounts::Context& context : accounts.contexts) {
    const StateError written = state.set_context(context.client, context.bytes);
    error = error == StateError::None ? written : error;
  }
  return error;
}

}  // namespace carpool::interpose
