#include "app/launch/memory_watch.hpp"

#include <array>
#include <unistd.h>
#include <utility>

#include "app/launch/process_memory.hpp"
#include "observe/process_owners.hpp"

namespace carpool::app {
namespace {

// A process that has just begun is not a client yet.
constexpr unsigned kLooksOfEscape = 3;

}  // namespace

MemoryWatch::MemoryWatch(std::unique_ptr<TelemetrySource> source,
                         GpuInfo gpu,
                         std::filesystem::path state_folder)
    : source_(std::move(source)), gpu_(std::move(gpu)), state_folder_(std::move(state_folder)) {}

std::vector<std::string> MemoryWatch::look(bool writes) {
  // Slots of processes that have ended are kept: their launches may not be in the kernel log yet.
  constexpr auto kKeep = interpose::StateReader::Dead::Keep;
  interpose::StateReader state;
  interpose::StateReport before;
  interpose::StateReport after;
  if (state.open(state_folder_.string(), gpu_.uuid, ::geteuid()) != interpose::StateError::None ||
      state.read(before, kKeep) != interpose::StateError::None) {
    return {};
  }
  const auto processes = source_->processes(gpu_.index);
  if (!processes || state.read(after, kKeep) != interpose::StateError::None) {
    return {};
  }
  const interpose::MemoryAccounts accounts = accountant_.add(before, memory_of(*processes), after);
  if (writes) {
    // What cannot be written is written at the next look.
    static_cast<void>(interpose::write_accounts(state, accounts));
  }
  const std::array<observe::JobProcesses, 1> own{{{.job = 1, .supervisor = ::getpid()}}};
  const observe::ProcessOwners owners = observe::find_process_owners(own, {});
  std::map<pid_t, unsigned> slotless;
  std::vector<std::string> escaped;
  for (const interpose::ProcessMemory& process : accounts.slotless) {
    if (!holds_memory(process) ||
        owners.owner(process.pid).kind != observe::ProcessOwner::Kind::Job) {
      continue;
    }
    const unsigned looks = slotless_[process.pid] + 1;
    slotless[process.pid] = looks;
    if (looks == kLooksOfEscape) {
      escaped.push_back(process_text(process));
    }
  }
  slotless_ = std::move(slotless);
  return escaped;
}

}  // namespace carpool::app
