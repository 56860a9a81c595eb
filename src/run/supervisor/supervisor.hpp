// The supervisor, a process beside each job: it claims the attempt, starts the job, waits for it
// and writes to disk how it ended. It does not need the server, which may end and restart
// meanwhile.
#pragma once

#include <span>

namespace carpool::run {

// Signals that make a supervisor end its job.
inline constexpr int kAskSignal = 15;   // SIGTERM: passed on to the job's processes
inline constexpr int kKillSignal = 10;  // SIGUSR1: the job's processes are killed
// SIGCONT: the run folder says whether the job is to stand still. Supervisors of older versions,
// which do not know it, ignore it.
inline constexpr int kLookSignal = 18;

// Exit codes of the starter, the process that forks the supervisor. The supervisor itself is waited
// for by init. A starter that knows why the attempt cannot begin writes it to standard output, as
// write_trouble() does.
inline constexpr int kSupervisorBegan = 0;
inline constexpr int kSupervisorDidNot = 1;

// Reads the order from standard input. Returns twice: in the starter when the job has begun or
// cannot begin, and in the supervisor when the job has ended; both return to main() and exit.
[[nodiscard]] int run_supervisor();

// The hidden command `carpool guard`: without arguments a supervisor, with "--mps GPU FOLDER" the
// keeper of an MPS daemon, with "--sweep-mps FOLDER" it ends daemons that are left, with "--notice"
// it runs the command of an ended job. Returns the exit code.
[[nodiscard]] int run_guard_command(std::span<char* const> arguments);

}  // namespace carpool::run
