// The process beside every job: claims the attempt, starts the job, waits for it, and leaves on
// disk how it ended. It needs nobody: carpool serve may die and come back meanwhile.
#pragma once

#include <span>

namespace carpool::run {

// Signals by which a guard is told to end its job.
inline constexpr int kAskSignal = 15;   // SIGTERM: the job's processes get it too
inline constexpr int kKillSignal = 10;  // SIGUSR1: they are killed

// What the process that was started says by its exit code; the guard itself is its child by then
// and nobody waits for that one.
inline constexpr int kGuardBegan = 0;
inline constexpr int kGuardDidNot = 1;

// Reads its order from standard input. Returns twice: in the process that was started when the job
// has begun or will not, and in the guard when all is over; both return to main() and exit.
[[nodiscard]] int run_guard();

// `carpool guard` with these arguments: none for a guard, "--mps GPU FOLDER USERS" for the keeper
// of an MPS daemon. The exit code.
[[nodiscard]] int run_guard_command(std::span<char* const> arguments);

}  // namespace carpool::run
